package io.pipelane.server.net;

import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** Frames of HTTP/2 (RFC 9113), byte by byte, as clients send them or damaged. */
public final class Http2Frames {
  public static final int DATA = 0;
  public static final int HEADERS = 1;
  public static final int RST_STREAM = 3;
  public static final int PING = 6;
  public static final int CONTINUATION = 9;

  private static final int ACK = 1;
  private static final int END_STREAM = 1;
  private static final int END_HEADERS = 4;
  private static final int PADDED = 8;
  private static final int SETTINGS = 4;
  private static final int INITIAL_WINDOW = 4;
  private static final int CANCEL = 8;
  private static final int HEAD = 9;

  private Http2Frames() {}

  /** What a connection begins with. */
  public static byte[] preface() {
    return "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".getBytes(StandardCharsets.US_ASCII);
  }

  /** A client's settings, all of them standard. */
  public static byte[] settings() {
    return frame(SETTINGS, 0, 0, new byte[0]);
  }

  /** The word that the other side's settings hold from now on. */
  public static byte[] settingsHeard() {
    return frame(SETTINGS, ACK, 0, new byte[0]);
  }

  /** A part of a request's body, no longer than a frame may be. */
  public static byte[] data(int stream, byte[] bytes) {
    return frame(DATA, 0, stream, bytes);
  }

  /** Settings that allow so many bytes of each answer before the client has said more. */
  public static byte[] settings(int window) {
    byte[] setting = ByteBuffer.allocate(6).putShort((short) INITIAL_WINDOW).putInt(window).array();
    return frame(SETTINGS, 0, 0, setting);
  }

  /** What the other side answers at once. */
  public static byte[] ping() {
    return frame(PING, 0, 0, new byte[8]);
  }

  /** What withdraws a request. */
  public static byte[] reset(int stream) {
    byte[] cancelled = ByteBuffer.allocate(4).putInt(CANCEL).array();
    return frame(RST_STREAM, 0, stream, cancelled);
  }

  /** Takes the next frame from a connection: its type, or -1 at the connection's end. */
  public static int skip(InputStream in) throws IOException {
    try {
      byte[] head = in.readNBytes(HEAD);
      if (head.length < HEAD) {
        return -1;
      }
      ByteBuffer frame = ByteBuffer.wrap(head);
      in.skipNBytes((frame.get() & 0xff) << 16 | (frame.getShort() & 0xffff));
      return frame.get();
    } catch (EOFException | SocketException closed) {
      return -1;
    }
  }

  static byte[] frame(int type, int flags, int stream, byte[] payload) {
    return ByteBuffer.allocate(HEAD + payload.length)
        .putShort((short) (payload.length >> 8))
        .put((byte) payload.length)
        .put((byte) type)
        .put((byte) flags)
        .putInt(stream)
        .put(payload)
        .array();
  }

  /**
   * A request: its fields in a frame and its continuation, its body in two frames, one of them
   * padded.
   *
   * @param fields names and values, one after the other
   */
  public static List<byte[]> request(int stream, byte[] body, String... fields) {
    ByteArrayOutputStream block = new ByteArrayOutputStream();
    for (int i = 0; i < fields.length; i += 2) {
      block.write(0); // a field that is spelt out, and not to be remembered (RFC 7541, 6.2.2)
      text(block, fields[i]);
      text(block, fields[i + 1]);
    }
    byte[] head = block.toByteArray();
    int cut = head.length / 2;
    int end = body.length == 0 ? END_STREAM : 0;
    List<byte[]> frames = new ArrayList<>();
    frames.add(frame(HEADERS, end, stream, slice(head, 0, cut)));
    frames.add(frame(CONTINUATION, END_HEADERS, stream, slice(head, cut, head.length)));
    if (body.length > 0) {
      int half = body.length / 2;
      frames.add(frame(DATA, 0, stream, slice(body, 0, half)));
      byte[] rest = slice(body, half, body.length);
      byte[] padded = new byte[rest.length + 4];
      padded[0] = 3;
      System.arraycopy(rest, 0, padded, 1, rest.length);
      frames.add(frame(DATA, END_STREAM | PADDED, stream, padded));
    }
    return frames;
  }

  private static void text(ByteArrayOutputStream block, String text) {
    byte[] bytes = text.getBytes(StandardCharsets.US_ASCII);
    if (bytes.length > 126) {
      throw new IllegalArgumentException("a length of several bytes: " + text);
    }
    block.write(bytes.length);
    block.writeBytes(bytes);
  }

  private static byte[] slice(byte[] bytes, int begin, int end) {
    return java.util.Arrays.copyOfRange(bytes, begin, end);
  }

  /** All of them, one after another. */
  public static byte[] joined(List<byte[]> frames) {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    frames.forEach(all::writeBytes);
    return all.toByteArray();
  }

  /** The same with some changed, missing, out of their order, twice, or made up. */
  public static List<byte[]> damaged(List<byte[]> sound, Random random) {
    List<byte[]> frames = new ArrayList<>(sound);
    for (int changes = random.nextInt(4); changes >= 0 && !frames.isEmpty(); changes--) {
      int at = random.nextInt(frames.size());
      switch (random.nextInt(7)) {
        case 0 -> frames.remove(at);
        case 1 -> frames.add(at, frames.get(random.nextInt(frames.size())));
        case 2 -> frames.add(random.nextInt(frames.size()), frames.remove(at));
        case 3 -> frames.add(at, madeUp(random));
        case 4 ->
            frames.set(at, withPayload(Damage.of(payload(frames.get(at)), random), frames.get(at)));
        default -> frames.set(at, Damage.of(frames.get(at), random));
      }
    }
    return frames;
  }

  private static byte[] payload(byte[] frame) {
    return slice(frame, Math.min(HEAD, frame.length), frame.length);
  }

  /** A frame's head with another payload, and its length. */
  private static byte[] withPayload(byte[] payload, byte[] frame) {
    return frame.length < HEAD
        ? frame
        : frame(frame[3], frame[4], ByteBuffer.wrap(frame, 5, 4).getInt(), payload);
  }

  private static byte[] madeUp(Random random) {
    byte[] payload = new byte[random.nextInt(40)];
    random.nextBytes(payload);
    return frame(random.nextInt(11), random.nextInt(256), random.nextInt(8), payload);
  }
}
