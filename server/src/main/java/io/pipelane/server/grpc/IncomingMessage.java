package io.pipelane.server.grpc;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.WireFormat;
import io.grpc.Detachable;
import io.grpc.KnownLength;
import io.grpc.MethodDescriptor.Marshaller;
import io.grpc.StatusRuntimeException;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.protocol.grpc.ModelInferRequest;
import io.pipelane.server.memory.HeapRoom;
import io.pipelane.server.net.CodecThreads;
import java.io.IOException;
import java.io.InputStream;
import java.lang.System.Logger.Level;
import org.jspecify.annotations.Nullable;

/**
 * An inference as it has come: parsed already where that is quickly done; else the bytes, large or
 * compressed, which a codec thread parses, in room of the heap that they have until {@link #close}.
 * Used by one thread after another.
 */
final class IncomingMessage {
  private static final System.Logger LOG = System.getLogger(IncomingMessage.class.getName());

  /** What a model's name, its version and an id may take. */
  private static final int LONGEST_BEFORE_ID = 1 << 13;

  private static final int UNKNOWN = -1;

  private final Marshaller<ModelInferRequest> parser;
  private final HeapRoom.Share room;
  private final int length;
  private @Nullable InputStream unread;
  private @Nullable ModelInferRequest parsed;
  private @Nullable StatusException refusal;
  private String refusedId = "";

  /**
   * Takes what has come; parses it here if it is small.
   *
   * @param stream is closed when this returns, but for what is large: that belongs to the message
   *     then
   * @param heap has room for what is large
   */
  IncomingMessage(InputStream stream, Marshaller<ModelInferRequest> parser, HeapRoom heap) {
    this.parser = parser;
    room = heap.share();
    length = length(stream);
    unread = later(stream, length);
    if (unread == null) {
      read(stream);
    } else {
      takeRoom(LazyGzip.compressedBytes(unread));
    }
  }

  /** Takes what a message has of the heap while it waits; one that cannot is refused. */
  private void takeRoom(int waitingBytes) {
    try {
      room.take(waitingBytes);
    } catch (StatusException e) {
      refuse(e);
      closeBytes();
    }
  }

  private static int length(InputStream stream) {
    try {
      return stream instanceof KnownLength ? stream.available() : UNKNOWN;
    } catch (IOException e) {
      return UNKNOWN; // Told by who reads it.
    }
  }

  /** What is to be read later; null where all can be read at once. */
  private static @Nullable InputStream later(InputStream stream, int length) {
    if (length == UNKNOWN) {
      return LazyGzip.detached(stream);
    }
    return length > CodecThreads.LARGEST_ON_LOOP && stream instanceof Detachable bytes
        ? bytes.detach()
        : null;
  }

  /**
   * Looks through a message that can be read twice, as all can that come over gRPC, and takes the
   * room that reading it needs.
   *
   * @throws StatusException when it is no message, says more than it may, or finds no room
   */
  private void check(InputStream message) {
    try (InputStream unpacked = LazyGzip.anew(message).orElse(InputStream.nullInputStream())) {
      room.take(HeapNeed.of(CodedInputStream.newInstance(unpacked)));
      if (message.markSupported()) {
        message.mark(message.available());
        try {
          room.take(HeapNeed.of(CodedInputStream.newInstance(message)));
        } finally {
          message.reset();
        }
      }
    } catch (StatusRuntimeException e) {
      throw UnreadableMessages.refusal(e);
    } catch (IOException e) {
      throw UnreadableMessages.refusal(e);
    }
  }

  private void read(InputStream stream) {
    try {
      parsed = parser.parse(stream);
    } catch (StatusRuntimeException e) {
      refusedId = LazyGzip.beginning(stream).map(IncomingMessage::idIn).orElse("");
      refusal = UnreadableMessages.refusal(e);
    }
  }

  /** Keeps of a message that has not been read why, and its id. */
  private void refuse(StatusException reason) {
    refusal = reason;
    if (unread != null) {
      refusedId = idIn(LazyGzip.beginning(unread).orElse(unread));
    }
  }

  /**
   * The id in a message that cannot be read as a whole, as far as it can; empty where there is
   * none. Fields lie in the order of their numbers, as encoders write them.
   */
  private static String idIn(InputStream message) {
    try (message) {
      CodedInputStream fields = CodedInputStream.newInstance(message);
      int _ = fields.pushLimit(LONGEST_BEFORE_ID);
      for (int tag = fields.readTag(); tag != 0; tag = fields.readTag()) {
        int number = WireFormat.getTagFieldNumber(tag);
        if (number == ModelInferRequest.ID_FIELD_NUMBER) {
          return fields.readStringRequireUtf8();
        }
        if (number > ModelInferRequest.ID_FIELD_NUMBER || !fields.skipField(tag)) {
          return "";
        }
      }
    } catch (StatusRuntimeException | IOException e) {
      LOG.log(Level.DEBUG, "a refused message without an id that can be read", e);
    }
    return "";
  }

  /** Whether parsing it would hold an event loop for too long. */
  boolean isLarge() {
    return unread != null;
  }

  /** Whether decoding what it says takes an event loop moments; throws what {@link #parse} does. */
  boolean isQuick() {
    int size = length == UNKNOWN ? parse().getSerializedSize() : length;
    return size <= CodecThreads.LARGEST_ON_LOOP;
  }

  /**
   * What it says.
   *
   * @throws StatusException {@link Status#INVALID_ARGUMENT} when it is no such message, {@link
   *     Status#TOO_LARGE} when it is too large once decompressed, and what {@link HeapRoom} says
   *     where there is no room to read it
   */
  ModelInferRequest parse() {
    InputStream bytes = unread;
    if (bytes != null) {
      try {
        check(bytes);
        read(bytes);
      } catch (StatusException e) {
        refuse(e);
      } finally {
        closeBytes();
      }
    }
    if (refusal != null) {
      room.close();
      throw refusal;
    }
    if (parsed == null) {
      throw new IllegalStateException("the message has been given back");
    }
    return parsed;
  }

  /**
   * The request's own name; empty where it has none, the message has not been parsed, or could not
   * be as far as there.
   */
  String id() {
    return parsed == null ? refusedId : parsed.getId();
  }

  /** Gives back the bytes of one that nobody has parsed, or what was parsed and its room. */
  void close() {
    closeBytes();
    parsed = null;
    room.close();
  }

  private void closeBytes() {
    InputStream bytes = unread;
    unread = null;
    if (bytes != null) {
      try {
        bytes.close();
      } catch (IOException e) {
        LOG.log(Level.DEBUG, "closing a message's bytes", e);
      }
    }
  }
}
