package io.pipelane.server.grpc;

import io.grpc.Detachable;
import io.grpc.KnownLength;
import io.grpc.MethodDescriptor.Marshaller;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.protocol.grpc.ModelInferRequest;
import io.pipelane.server.net.CodecThreads;
import java.io.IOException;
import java.io.InputStream;
import java.lang.System.Logger.Level;
import org.jspecify.annotations.Nullable;

/**
 * An inference as it has come: parsed already where that is quickly done; else the bytes, large or
 * compressed, which a codec thread parses. Used by one thread after another.
 */
final class IncomingMessage {
  private static final System.Logger LOG = System.getLogger(IncomingMessage.class.getName());

  private final Marshaller<ModelInferRequest> parser;
  private @Nullable InputStream unread;
  private @Nullable ModelInferRequest parsed;
  private @Nullable StatusException refusal;

  /**
   * Takes what has come; parses it here if it is small.
   *
   * @param stream is closed when this returns, but for what is large: that belongs to the message
   *     then
   */
  IncomingMessage(InputStream stream, Marshaller<ModelInferRequest> parser) {
    this.parser = parser;
    unread = later(stream);
    if (unread == null) {
      read(stream);
    }
  }

  /** What is to be read later; null where all can be read at once. */
  private static @Nullable InputStream later(InputStream stream) {
    if (!(stream instanceof KnownLength)) {
      return LazyGzip.detached(stream);
    }
    try {
      return stream instanceof Detachable bytes && stream.available() > CodecThreads.LARGEST_ON_LOOP
          ? bytes.detach()
          : null;
    } catch (IOException e) {
      return null; // Told by who reads it.
    }
  }

  private void read(InputStream stream) {
    try {
      parsed = parser.parse(stream);
    } catch (StatusRuntimeException e) {
      refusal =
          e.getStatus().getCode() == Code.RESOURCE_EXHAUSTED
              ? new StatusException(
                  Status.TOO_LARGE,
                  e.getStatus().getDescription() + ", as server.max-request-size allows",
                  e)
              : new StatusException(
                  Status.INVALID_ARGUMENT,
                  "the message is not of protocol buffers, or of another type",
                  e);
    }
  }

  /** Whether parsing it would hold an event loop for too long. */
  boolean isLarge() {
    return unread != null;
  }

  /**
   * What it says.
   *
   * @throws StatusException {@link Status#INVALID_ARGUMENT} when it is no such message, {@link
   *     Status#TOO_LARGE} when it is too large once decompressed
   */
  ModelInferRequest parse() {
    InputStream bytes = unread;
    if (bytes != null) {
      try {
        read(bytes);
      } finally {
        close();
      }
    }
    if (refusal != null) {
      throw refusal;
    }
    if (parsed == null) {
      throw new IllegalStateException("the message has been given back");
    }
    return parsed;
  }

  /** The request's own name; empty where it has none, or the message has not been parsed. */
  String id() {
    return parsed == null ? "" : parsed.getId();
  }

  /** Gives the bytes back of one that nobody has parsed. */
  void close() {
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
