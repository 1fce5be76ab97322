package io.pipelane.server.http.message;

import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.pipelane.server.http.message.Response.Content;
import java.nio.charset.StandardCharsets;
import java.util.EnumMap;
import java.util.Map;
import java.util.Objects;

/**
 * The writer of a response's head into the room in front of its body, from its end to its
 * beginning. So body and head need neither two buffers nor a copy.
 */
public final class ResponseHead {
  /** Bytes that the longest head needs. */
  static final int ROOM = 576;

  private static final byte[] OK = bytes("HTTP/1.1 200 OK\r\n");
  private static final byte[] VERSION = bytes("HTTP/1.1 ");
  private static final Map<Content, byte[]> TYPES = types();
  private static final byte[] JSON_LENGTH = bytes("Inference-Header-Content-Length: ");
  private static final byte[] LENGTH = bytes("Content-Length: ");
  private static final byte[] STALL = bytes("Pipelane-Stall-Us: ");
  private static final byte[] CLOSE = bytes("Connection: close\r\n");
  private static final byte[] KEEP_ALIVE = bytes("Connection: keep-alive\r\n");
  private static final byte[] LINE_END = bytes("\r\n");

  private final ByteBuf buffer;
  private int start;

  private ResponseHead(ByteBuf buffer) {
    this.buffer = buffer;
    this.start = buffer.readerIndex();
  }

  /** The way a connection goes on after a response. */
  public enum Persistence {
    /** It stays open, which HTTP/1.1 takes for granted. */
    IMPLIED,
    /** It stays open, which an HTTP/1.0 client wants to be told. */
    STATED,
    CLOSED
  }

  /** Puts the head in front of the response's body, which must not have been done before. */
  public static void prepend(Response response, Persistence persistence) {
    ResponseHead head = new ResponseHead(response.body());
    long length = response.contentLength();
    head.put(LINE_END);
    switch (persistence) {
      case CLOSED -> head.put(CLOSE);
      case STATED -> head.put(KEEP_ALIVE);
      case IMPLIED -> {}
    }
    for (String field : response.fields()) {
      head.put(LINE_END);
      head.put(bytes(field));
    }
    if (response.stallNanos() >= 0) {
      head.putField(STALL, (response.stallNanos() + 999) / 1000);
    }
    boolean isStream = response.content() == Content.EVENTS;
    if (!isStream) {
      head.putField(LENGTH, length);
    }
    if (response.jsonLength() >= 0) {
      head.putField(JSON_LENGTH, response.jsonLength());
    }
    if (length > 0 || isStream) {
      head.put(Objects.requireNonNull(TYPES.get(response.content())));
    }
    head.putStatus(response.status());
    response.body().readerIndex(head.start);
  }

  private void putStatus(HttpResponseStatus status) {
    if (status.code() == HttpResponseStatus.OK.code()) {
      put(OK);
      return;
    }
    put(LINE_END);
    put(bytes(status.toString()));
    put(VERSION);
  }

  private void putField(byte[] name, long value) {
    put(LINE_END);
    put(bytes(Long.toString(value)));
    put(name);
  }

  private void put(byte[] text) {
    start -= text.length;
    buffer.setBytes(start, text);
  }

  private static Map<Content, byte[]> types() {
    Map<Content, byte[]> types = new EnumMap<>(Content.class);
    for (Content content : Content.values()) {
      types.put(content, bytes("Content-Type: " + content.mediaType() + "\r\n"));
    }
    return types;
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.US_ASCII);
  }
}
