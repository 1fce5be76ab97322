package io.pipelane.server.protocol;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonLocation;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.core.exc.StreamConstraintsException;
import com.fasterxml.jackson.core.json.JsonWriteFeature;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufInputStream;
import io.netty.buffer.ByteBufUtil;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.server.memory.DirectMemory;
import io.pipelane.server.memory.HeapRoom;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.util.function.BooleanSupplier;

/** The reading and writing of JSON here: as a stream, within limits, with errors that say where. */
public final class Json {
  /** Deepest nesting of arrays and objects in a request, tensors included. */
  static final int MAXIMUM_NESTING = 32;

  /** Most characters of one number. */
  static final int MAXIMUM_NUMBER_LENGTH = 1000;

  /*
   * A string takes six bytes a character while it is read: two where it is collected, four where it
   * is copied from there. Two threads read what is large for clients, and others the items of jobs.
   * Messages of gRPC have room of their own beside (HeapRoom), so that two strings may take half as
   * much: all then fit into fifteen sixteenths of the heap, but for jobs' items of such strings.
   */
  private static final long HEAP_BYTES_OF_CHARACTER = 2 * 2 * 6L;

  /** Most characters of one string that is data. */
  static final int MAXIMUM_STRING_LENGTH =
      (int) Math.min(Integer.MAX_VALUE, HeapRoom.OF_REQUESTS.mostBytes() / HEAP_BYTES_OF_CHARACTER);

  private static final int LONGEST_COPIED = 4096;
  private static final int MAXIMUM_MEMBER_NAME_LENGTH = 4096;
  private static final int MAXIMUM_QUOTED_LENGTH = 64;

  private static final JsonFactory FACTORY =
      JsonFactory.builder()
          .streamReadConstraints(
              StreamReadConstraints.builder()
                  .maxNestingDepth(MAXIMUM_NESTING)
                  .maxNumberLength(MAXIMUM_NUMBER_LENGTH)
                  .maxNameLength(MAXIMUM_MEMBER_NAME_LENGTH)
                  .maxStringLength(MAXIMUM_STRING_LENGTH)
                  .build())
          .disable(JsonFactory.Feature.INTERN_FIELD_NAMES)
          .disable(JsonFactory.Feature.FAIL_ON_SYMBOL_HASH_OVERFLOW)
          .enable(StreamReadFeature.USE_FAST_DOUBLE_PARSER)
          .enable(StreamReadFeature.USE_FAST_BIG_NUMBER_PARSER)
          .enable(JsonWriteFeature.COMBINE_UNICODE_SURROGATES_IN_UTF8)
          .build();

  private Json() {}

  /** The reading of one JSON text from a parser that stands before its first token. */
  public interface Reading<T> {
    /** What the text says. */
    T read(JsonParser parser) throws IOException;
  }

  /** The writing of one JSON text. */
  public interface Writing {
    /** Writes all of it. */
    void write(JsonGenerator generator) throws IOException;
  }

  /**
   * Reads all readable bytes as one JSON text; the buffer's indices stay as they are.
   *
   * @throws StatusException {@link Status#INVALID_ARGUMENT} with line and column when it is none;
   *     {@link Status#INSUFFICIENT_MEMORY} when a string is longer than any may be
   */
  public static <T> T read(ByteBuf bytes, Reading<T> reading) {
    checkEncoding(bytes);
    try (JsonParser parser = parserOf(bytes)) {
      T value = reading.read(parser);
      if (parser.nextToken() != null) {
        throw invalid(
            "malformed JSON at " + place(parser.currentTokenLocation()) + ": text after the end");
      }
      return value;
    } catch (JsonProcessingException e) {
      throw malformed(e);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Short texts are read from a copy: what reading a stream takes is more than the text. */
  private static JsonParser parserOf(ByteBuf bytes) throws IOException {
    return bytes.readableBytes() <= LONGEST_COPIED
        ? FACTORY.createParser(ByteBufUtil.getBytes(bytes))
        : FACTORY.createParser((InputStream) new ByteBufInputStream(bytes.duplicate()));
  }

  /**
   * Appends one JSON text to a buffer.
   *
   * @throws StatusException when there is no room for it: see {@link DirectMemory#makeRoom}
   */
  public static void write(ByteBuf target, Writing writing) {
    write(target, () -> false, writing);
  }

  /**
   * The same, which ends with {@link Status#CANCELLED} where nobody waits for the text any more.
   *
   * @param unwanted whether that is so
   */
  public static void write(ByteBuf target, BooleanSupplier unwanted, Writing writing) {
    try (OutputStream stream = new AnswerStream(target, unwanted);
        JsonGenerator generator = FACTORY.createGenerator(stream)) {
      writing.write(generator);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** An error that names a field, what it should have been and what it is. */
  public static StatusException wrong(JsonParser parser, String field, String expected)
      throws IOException {
    return invalid(field + " must be " + expected + ", not " + quote(parser));
  }

  /** {@link Status#INVALID_ARGUMENT}, in whole words. */
  public static StatusException invalid(String message) {
    return new StatusException(Status.INVALID_ARGUMENT, message);
  }

  /** The same of a value that has been read already. */
  public static StatusException wrong(String field, String expected, Object value) {
    return invalid(field + " must be " + expected + ", not " + shorten(value.toString()));
  }

  /** An error that names a field of which there is more than one. */
  public static StatusException duplicate(String field) {
    return invalid(field + " stands there twice");
  }

  /** Moves to the first token and checks that an object begins there. */
  public static void beginObject(JsonParser parser) throws IOException {
    JsonToken token = parser.nextToken();
    if (token == null) {
      throw invalid("malformed JSON at line 1, column 1: the body is empty");
    }
    if (token != JsonToken.START_OBJECT) {
      throw wrong(parser, "the request", "a JSON object");
    }
  }

  /** The current value in a few words, for an error message. */
  private static String quote(JsonParser parser) throws IOException {
    JsonToken token = parser.currentToken();
    return switch (token) {
      case START_ARRAY -> "an array";
      case START_OBJECT -> "an object";
      case VALUE_STRING -> '"' + shorten(parser.getText()) + '"';
      case null -> "the end of the text";
      default -> shorten(parser.getText());
    };
  }

  /** A text of a client's as errors quote it. */
  public static String shorten(String text) {
    return QuotedText.shorten(text, MAXIMUM_QUOTED_LENGTH);
  }

  private static StatusException malformed(JsonProcessingException e) {
    String where = e.getLocation() == null ? "" : " at " + place(e.getLocation());
    if (e instanceof StreamConstraintsException) {
      if (e.getOriginalMessage().startsWith("String value length")) {
        return new StatusException(
            Status.INSUFFICIENT_MEMORY,
            "a string of JSON%s has more than the %d characters that Java's heap has room for; send it as binary data, or raise -Xmx"
                .formatted(where, MAXIMUM_STRING_LENGTH),
            e);
      }
      String limit = e.getOriginalMessage().replaceAll(", from `[^`]*`", "");
      return new StatusException(
          Status.INVALID_ARGUMENT, "JSON beyond a limit" + where + ": " + limit, e);
    }
    return new StatusException(
        Status.INVALID_ARGUMENT, "malformed JSON" + where + ": " + toldToClients(e), e);
  }

  /** Without what the library tells its own users. */
  private static String toldToClients(JsonProcessingException e) {
    return e.getOriginalMessage()
        .replaceAll("(?s) \\(start marker at .*", "")
        .replaceAll(": enable `[^`]*` to allow", " is not JSON");
  }

  private static String place(JsonLocation location) {
    return "line " + location.getLineNr() + ", column " + location.getColumnNr();
  }

  /** Only UTF-8 without a mark is let through, so that offsets are offsets of bytes. */
  private static void checkEncoding(ByteBuf bytes) {
    int length = bytes.readableBytes();
    int first = length > 0 ? bytes.getUnsignedByte(bytes.readerIndex()) : ' ';
    int second = length > 1 ? bytes.getUnsignedByte(bytes.readerIndex() + 1) : ' ';
    if (first == 0 || second == 0 || first >= 0xEF) {
      throw invalid("JSON must be UTF-8 without a byte order mark");
    }
  }
}
