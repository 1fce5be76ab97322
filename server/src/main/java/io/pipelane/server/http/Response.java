package io.pipelane.server.http;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.pipelane.config.StatusException;
import io.pipelane.server.protocol.Answers;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * An answer before its head is written. Its first buffer keeps room in front of the body, so that
 * head and body leave as one piece.
 *
 * <p>Whoever holds a response owns its buffers; writing it hands them on, otherwise {@link
 * #release} gives them up.
 *
 * @param body begins behind {@link ResponseHead#ROOM} bytes that are not readable
 * @param tail sent behind the body as it is
 * @param jsonLength bytes of JSON in front of binary data, -1 for a body that is JSON throughout
 * @param allow methods that the path knows, for 405
 * @param closes whether the connection cannot go on after it
 */
record Response(
    HttpResponseStatus status,
    ByteBuf body,
    List<ByteBuf> tail,
    int jsonLength,
    @Nullable Duration retryAfter,
    @Nullable String allow,
    boolean closes) {

  /** A buffer to compose a body in. */
  static ByteBuf newBody(ByteBufAllocator allocator) {
    return allocator
        .directBuffer(ResponseHead.ROOM + 512)
        .setIndex(ResponseHead.ROOM, ResponseHead.ROOM);
  }

  /** A response without binary data. */
  static Response of(
      HttpResponseStatus status, ByteBufAllocator allocator, Consumer<ByteBuf> writer) {
    ByteBuf body = newBody(allocator);
    writer.accept(body);
    return new Response(status, body, List.of(), -1, null, null, false);
  }

  static Response ok(ByteBufAllocator allocator, Consumer<ByteBuf> writer) {
    return of(HttpResponseStatus.OK, allocator, writer);
  }

  static Response error(HttpResponseStatus status, ByteBufAllocator allocator, String message) {
    return of(status, allocator, body -> Answers.error(body, message));
  }

  static Response error(StatusException error, ByteBufAllocator allocator) {
    String message = error.getMessage() == null ? error.status().name() : error.getMessage();
    Response response = error(HttpStatusMapping.of(error.status()), allocator, message);
    return new Response(
        response.status, response.body, List.of(), -1, error.retryAfter(), null, false);
  }

  static Response methodNotAllowed(ByteBufAllocator allocator, String allow) {
    Response response =
        error(HttpResponseStatus.METHOD_NOT_ALLOWED, allocator, "Method Not Allowed; use " + allow);
    return new Response(response.status, response.body, List.of(), -1, null, allow, false);
  }

  /** The same response, after which the connection is closed. */
  Response closing() {
    return new Response(status, body, tail, jsonLength, retryAfter, allow, true);
  }

  long contentLength() {
    long length = body.readableBytes();
    for (ByteBuf part : tail) {
      length += part.readableBytes();
    }
    return length;
  }

  void release() {
    body.release();
    tail.forEach(ByteBuf::release);
  }
}
