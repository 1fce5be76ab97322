package io.pipelane.server.http.message;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.TooLongHttpHeaderException;
import io.netty.handler.codec.http.TooLongHttpLineException;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.server.grpc.MessageInferences;
import io.pipelane.server.memory.DirectMemory;
import io.pipelane.server.net.HttpStatusMapping;
import io.pipelane.server.protocol.Answers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * An answer before its head is written. Its first buffer keeps room in front of the body, so that
 * head and body leave as one piece.
 *
 * <p>Whoever holds a response owns its buffers; writing it hands them on, otherwise {@link
 * #release} gives them up.
 *
 * @param body begins behind {@link ResponseHead#ROOM} bytes that are not readable
 * @param tail sent behind the body as it is
 * @param content what the body is
 * @param jsonLength bytes of JSON in front of binary data, -1 for other content
 * @param stallNanos how long an inference waited for weights, -1 for other answers
 * @param fields further header fields, short ones, without the end of their lines
 * @param closes whether the connection cannot go on after it
 */
public record Response(
    HttpResponseStatus status,
    ByteBuf body,
    List<ByteBuf> tail,
    Content content,
    int jsonLength,
    long stallNanos,
    List<String> fields,
    boolean closes) {

  /** The kind of a body's content. */
  public enum Content {
    JSON("application/json"),
    BINARY("application/octet-stream"),
    MESSAGE(MessageInferences.MEDIA_TYPE),
    METRICS("text/plain; version=0.0.4; charset=utf-8"),
    VALUES("text/csv; charset=utf-8"),
    OPTIONS("application/yaml"),
    EVENTS("text/event-stream"),
    PAGE("text/html; charset=utf-8"),
    STYLE("text/css; charset=utf-8"),
    SCRIPT("text/javascript; charset=utf-8"),
    IMAGE("image/svg+xml");

    private final String mediaType;

    Content(String mediaType) {
      this.mediaType = mediaType;
    }

    public String mediaType() {
      return mediaType;
    }
  }

  /** A buffer to compose a body in; on the heap where there is no other room, not even for this. */
  public static ByteBuf newBody(ByteBufAllocator allocator) {
    return newBody(allocator, Integer.MAX_VALUE);
  }

  /** The same for what may become large, but not on the heap. */
  public static ByteBuf newLargeBody(ByteBufAllocator allocator) {
    return newBody(allocator, DirectMemory.LEAST_LARGE);
  }

  private static ByteBuf newBody(ByteBufAllocator allocator, int mostOnHeap) {
    ByteBuf body;
    try {
      body = allocator.directBuffer(ResponseHead.ROOM + 512);
    } catch (OutOfMemoryError e) {
      body = Unpooled.buffer(ResponseHead.ROOM + 512, mostOnHeap);
    }
    return body.setIndex(ResponseHead.ROOM, ResponseHead.ROOM);
  }

  /**
   * The answer to an inference.
   *
   * @param jsonLength bytes of JSON in front of binary data, -1 where there is none
   */
  public static Response inferred(
      ByteBuf body, List<ByteBuf> tail, int jsonLength, long stallNanos) {
    Content content = jsonLength >= 0 ? Content.BINARY : Content.JSON;
    return new Response(
        HttpResponseStatus.OK, body, tail, content, jsonLength, stallNanos, List.of(), false);
  }

  /** A response in one piece. */
  public static Response of(
      HttpResponseStatus status,
      Content content,
      List<String> fields,
      ByteBufAllocator allocator,
      Consumer<ByteBuf> writer) {
    ByteBuf body = newBody(allocator);
    try {
      writer.accept(body);
    } catch (RuntimeException | Error e) {
      body.release();
      throw e;
    }
    return new Response(status, body, List.of(), content, -1, -1, fields, false);
  }

  /** A response of JSON. */
  public static Response of(
      HttpResponseStatus status, ByteBufAllocator allocator, Consumer<ByteBuf> writer) {
    return of(status, Content.JSON, List.of(), allocator, writer);
  }

  public static Response ok(ByteBufAllocator allocator, Consumer<ByteBuf> writer) {
    return of(HttpResponseStatus.OK, allocator, writer);
  }

  public static Response error(
      HttpResponseStatus status, ByteBufAllocator allocator, String message) {
    return of(status, allocator, body -> Answers.error(body, message));
  }

  public static Response error(StatusException error, ByteBufAllocator allocator) {
    String message = error.getMessage() == null ? error.status().name() : error.getMessage();
    List<String> fields = new ArrayList<>();
    Duration retryAfter = error.retryAfter();
    if (retryAfter != null) {
      fields.add("Retry-After: " + Math.max(1, retryAfter.plusMillis(999).toSeconds()));
    }
    if (error.status() == Status.UNAUTHENTICATED) {
      fields.add("WWW-Authenticate: Bearer realm=\"pipelane\"");
    }
    return of(
        HttpStatusMapping.of(error.status()),
        Content.JSON,
        fields,
        allocator,
        body -> Answers.error(body, message));
  }

  /** The answer to what is no HTTP, or more than is taken of it. */
  public static Response malformed(Throwable cause, ByteBufAllocator allocator) {
    HttpResponseStatus status =
        switch (cause) {
          case TooLongHttpLineException _ -> HttpResponseStatus.REQUEST_URI_TOO_LONG;
          case TooLongHttpHeaderException _ -> HttpResponseStatus.REQUEST_HEADER_FIELDS_TOO_LARGE;
          default -> HttpResponseStatus.BAD_REQUEST;
        };
    return error(status, allocator, "malformed HTTP: " + cause.getMessage());
  }

  /** The same of what follows a request's head, whose lines are those of chunks. */
  public static Response malformedBody(Throwable cause, ByteBufAllocator allocator) {
    return cause instanceof TooLongHttpLineException
        ? error(
            HttpResponseStatus.BAD_REQUEST, allocator, "malformed HTTP: a chunk's line is too long")
        : malformed(cause, allocator);
  }

  public static Response methodNotAllowed(ByteBufAllocator allocator, String allow) {
    return of(
        HttpResponseStatus.METHOD_NOT_ALLOWED,
        Content.JSON,
        List.of("Allow: " + allow),
        allocator,
        body -> Answers.error(body, "Method Not Allowed; use " + allow));
  }

  public static Response encodingUnknown(ByteBufAllocator allocator, String encoding) {
    return of(
        HttpResponseStatus.NOT_IMPLEMENTED,
        Content.JSON,
        List.of("Accept-Encoding: " + Compression.SERVED),
        allocator,
        body ->
            Answers.error(
                body,
                "Content-Encoding \"%s\" is not served; send the body as it is, or as one of %s"
                    .formatted(UriPath.shorten(encoding), Compression.SERVED)));
  }

  /** The same response, after which the connection is closed. */
  public Response closing() {
    return new Response(status, body, tail, content, jsonLength, stallNanos, fields, true);
  }

  /** The same response with one more header field, a short one. */
  public Response withField(String field) {
    List<String> more = new ArrayList<>(fields);
    more.add(field);
    return new Response(status, body, tail, content, jsonLength, stallNanos, more, closes);
  }

  /** The same response with its whole body in one buffer, which it owns; this one gives it up. */
  Response with(ByteBuf otherBody, List<String> otherFields) {
    return new Response(
        status, otherBody, List.of(), content, jsonLength, stallNanos, otherFields, closes);
  }

  public long contentLength() {
    long length = body.readableBytes();
    for (ByteBuf part : tail) {
      length += part.readableBytes();
    }
    return length;
  }

  public void release() {
    body.release();
    tail.forEach(ByteBuf::release);
  }
}
