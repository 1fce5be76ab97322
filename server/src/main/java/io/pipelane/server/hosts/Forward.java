package io.pipelane.server.hosts;

import io.netty.buffer.ByteBuf;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpResponseStatus;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The request that goes to another host and the answer that comes back. */
public final class Forward {
  private static final int LONGEST_VALUE = 64;

  private Forward() {}

  /**
   * A request as it came.
   *
   * @param loop on which everything happens
   * @param headers as the client sent them
   * @param body the sender's, who keeps it until the end of the attempt
   * @param once whether it must not be sent again once any of it has been
   * @param cameNanos when it came to this host, by {@link System#nanoTime}
   */
  public record Request(
      EventLoop loop,
      HttpMethod method,
      String target,
      HttpHeaders headers,
      ByteBuf body,
      boolean once,
      long cameNanos) {
    /** How long it has been on its way. */
    long waitedNanos() {
      return System.nanoTime() - cameNanos;
    }
  }

  /**
   * An answer.
   *
   * @param body its pieces, which belong to whoever holds the answer
   */
  public record Answer(HttpResponseStatus status, HttpHeaders headers, List<ByteBuf> body) {
    /**
     * Whether another host may have a better one: the model is not there, too much is, or keys have
     * changed that this host lets in, or is yet to turn away.
     */
    boolean isRefusal() {
      return switch (status.code()) {
        case 401, 403, 404, 503 -> true;
        default -> false;
      };
    }

    /** Whether a refusal is that of a host that has the model, for the moment. */
    boolean isOfHostThatHasTheModel() {
      return status.code() == HttpResponseStatus.SERVICE_UNAVAILABLE.code();
    }

    /**
     * Whether one refusal tells a client more than another: that of a host that has the model more
     * than that of one that has not, and this more than that of one that does not let him in.
     */
    boolean tellsMoreThan(Answer other) {
      return weight() > other.weight();
    }

    private int weight() {
      return switch (status.code()) {
        case 503 -> 2;
        case 404 -> 1;
        default -> 0;
      };
    }

    /** A field's number; -1 where it has none. */
    public long number(CharSequence name) {
      String value = headers.get(name);
      return value != null && value.matches("[0-9]{1,9}") ? Long.parseLong(value) : -1;
    }

    /** A field's value; null where there is none, or one that is too long to be passed on. */
    public @Nullable String field(CharSequence name) {
      String value = headers.get(name);
      return value != null && value.length() <= LONGEST_VALUE ? value : null;
    }

    public void release() {
      body.forEach(ByteBuf::release);
    }
  }

  /** The reason why there is no answer. */
  public enum Failure {
    /** Nothing of the request was sent. */
    UNREACHED,
    /** The connection broke, or the host has gone, before the answer was whole. */
    BROKEN,
    /** The answer did not come in time. */
    LATE,
    /** The answer is larger than any may be, or finds no room here. */
    TOO_LARGE
  }

  /** The receiver of an attempt's end, told one, on the request's event loop. */
  public interface Receiver {
    void answered(Answer answer);

    void failed(Failure failure);
  }
}
