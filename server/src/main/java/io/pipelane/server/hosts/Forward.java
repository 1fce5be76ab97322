package io.pipelane.server.hosts;

import io.netty.buffer.ByteBuf;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpResponseStatus;
import java.util.List;
import java.util.OptionalLong;
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
   * @param deadlineNanos when it must have been answered, by the same clock; empty for whenever
   */
  public record Request(
      EventLoop loop,
      HttpMethod method,
      String target,
      HttpHeaders headers,
      ByteBuf body,
      boolean once,
      long cameNanos,
      OptionalLong deadlineNanos) {
    /** How long it has been on its way. */
    long waitedNanos() {
      return System.nanoTime() - cameNanos;
    }

    /** How long it may take still; as good as for ever without a deadline. */
    long leftNanos() {
      return deadlineNanos.isPresent()
          ? Math.max(0, deadlineNanos.getAsLong() - System.nanoTime())
          : Long.MAX_VALUE;
    }
  }

  /**
   * The patience of a request's client.
   *
   * @param cameNanos when the request came to this host, by {@link System#nanoTime}
   * @param timeoutMicros how long he waits from then on; 0 where he has not said
   */
  public record Patience(long cameNanos, long timeoutMicros) {}

  /**
   * An answer.
   *
   * @param body its pieces, which belong to whoever holds the answer
   */
  public record Answer(HttpResponseStatus status, HttpHeaders headers, List<ByteBuf> body) {
    /**
     * Whether another host may have a better one: the model is not there, too much is, the host's
     * memory is too small to begin with it, or keys have changed that this host lets in, or is yet
     * to turn away.
     */
    boolean isRefusal() {
      return switch (status.code()) {
        case 401, 403, 404, 503 -> true;
        case 507 -> headers.contains(ForwardedHeaders.NOT_RUN);
        default -> false;
      };
    }

    /** Whether the model is not there, so that nothing has been done, state or not. */
    boolean isOfHostWithoutTheModel() {
      return status.code() == HttpResponseStatus.NOT_FOUND.code();
    }

    /** Whether a refusal is that of a host that has the model, for the moment. */
    boolean isForTheMoment() {
      return status.code() == HttpResponseStatus.SERVICE_UNAVAILABLE.code();
    }

    /**
     * Whether one refusal tells a client more than another: that of a host that has the model more
     * than that of one that has not, most where it may answer later, and this more than that of one
     * that does not let him in.
     */
    boolean tellsMoreThan(Answer other) {
      return weight() > other.weight();
    }

    private int weight() {
      return switch (status.code()) {
        case 503 -> 3;
        case 507 -> 2;
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
    /** The answer did not come while a host may take for one. */
    LATE,
    /** The answer did not come before the request's deadline. */
    OVERDUE,
    /** The answer is larger than any may be, or finds no room here. */
    TOO_LARGE
  }

  /** The receiver of an attempt's end, told one, on the request's event loop. */
  public interface Receiver {
    void answered(Answer answer);

    void failed(Failure failure);

    /** The host cannot be connected to, as was found once nobody waited for it any more. */
    void unreachedAfterAll();
  }
}
