package io.pipelane.server.http;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.util.concurrent.ScheduledFuture;
import io.pipelane.config.StatusException;
import io.pipelane.server.http.message.Response;
import io.pipelane.server.http.message.Response.Content;
import io.pipelane.server.protocol.StateAnswer;
import io.pipelane.server.protocol.StateChanges;
import io.pipelane.server.protocol.StateChanges.Event;
import io.pipelane.server.state.ServerState;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;

/**
 * Pushes the server's state, whole or what has changed in it, to those who listen: at once, then
 * every second, as server-sent events (HTML, section 9.2). A listener that does not keep up misses
 * states, not the latest one.
 */
@SuppressWarnings("FutureReturnValueIgnored") // a write that fails closes the channel
final class StateEvents {
  static final int MAXIMUM_LISTENERS = 32;
  static final Duration INTERVAL = Duration.ofSeconds(1);

  private static final Duration RETRY_AFTER = Duration.ofSeconds(5);
  private static final byte[] WHOLE = "event: state\ndata: ".getBytes(StandardCharsets.US_ASCII);
  private static final byte[] PART = "event: changes\ndata: ".getBytes(StandardCharsets.US_ASCII);
  private static final byte[] END = "\n\n".getBytes(StandardCharsets.US_ASCII);
  private static final List<String> FIELDS = List.of("Cache-Control: no-store");
  private static final System.Logger LOG = System.getLogger(StateEvents.class.getName());

  private final Executor codecs;
  private final AtomicInteger listeners = new AtomicInteger();

  /**
   * @param codecs puts states together and encodes them
   */
  StateEvents(Executor codecs) {
    this.codecs = codecs;
  }

  /**
   * Answers with a stream of states, which ends with the connection; on the exchange's event loop.
   *
   * @param states makes the states that this listener may see; one that throws ends the stream
   * @throws StatusException when there are too many listeners
   */
  void open(Exchange exchange, Supplier<ServerState> states) {
    openStream(exchange, event -> StateAnswer.write(event.writeBytes(WHOLE), states.get()));
  }

  /**
   * The same with a stream that tells a whole state first, and then of models what has changed
   * since the listener's event before, if the same models are listed.
   */
  void openChanges(Exchange exchange, Supplier<ServerState> states) {
    StateChanges changes = new StateChanges();
    openStream(
        exchange,
        event -> {
          Event told = changes.next(states.get());
          told.write(event.writeBytes(told.isWhole() ? WHOLE : PART));
        });
  }

  private void openStream(Exchange exchange, Telling telling) {
    if (listeners.incrementAndGet() > MAXIMUM_LISTENERS) {
      listeners.decrementAndGet();
      throw StatusException.unavailable(
          "%d listeners are told the server's state already; GET /v2/pipelane/state tells it once"
              .formatted(MAXIMUM_LISTENERS),
          RETRY_AFTER);
    }
    Response head =
        Response.of(HttpResponseStatus.OK, Content.EVENTS, FIELDS, exchange.allocator(), _ -> {});
    if (exchange.isHeadOnly()) {
      listeners.decrementAndGet();
      exchange.answer(head);
      return;
    }
    exchange.whenAbandoned(listeners::decrementAndGet);
    exchange.answerWithStream(head, channel -> new Listener(channel, telling).begin());
  }

  /** One event: its beginning, and its JSON text. */
  private interface Telling {
    void write(ByteBuf event);
  }

  /** One connection. Belongs to its event loop. */
  private final class Listener implements Runnable {
    private final Channel channel;
    private final Telling telling;
    private boolean gathering;

    Listener(Channel channel, Telling telling) {
      this.channel = channel;
      this.telling = telling;
    }

    void begin() {
      ScheduledFuture<?> ticks =
          channel
              .eventLoop()
              .scheduleAtFixedRate(
                  this, INTERVAL.toNanos(), INTERVAL.toNanos(), TimeUnit.NANOSECONDS);
      channel
          .closeFuture()
          .addListener(
              _ -> {
                ticks.cancel(false);
                listeners.decrementAndGet();
              });
      run();
    }

    @Override
    public void run() {
      if (gathering || !channel.isWritable()) {
        return;
      }
      try {
        gathering = true;
        codecs.execute(this::gather);
      } catch (RejectedExecutionException e) {
        gathering = false;
        LOG.log(System.Logger.Level.DEBUG, "a state is left out: codec threads are busy", e);
      }
    }

    /** On a codec thread. */
    private void gather() {
      ByteBuf event = channel.alloc().buffer();
      try {
        telling.write(event);
        event.writeBytes(END);
      } catch (StatusException e) {
        LOG.log(System.Logger.Level.DEBUG, "a listener is closed: its key is good no more", e);
        end(event);
        return;
      } catch (RuntimeException | OutOfMemoryError e) {
        LOG.log(System.Logger.Level.WARNING, "a listener is closed: its state failed", e);
        end(event);
        return;
      }
      try {
        channel.eventLoop().execute(() -> send(event));
      } catch (RejectedExecutionException e) {
        event.release();
      }
    }

    private void end(ByteBuf event) {
      event.release();
      channel.close();
    }

    private void send(ByteBuf event) {
      gathering = false;
      channel.writeAndFlush(event);
    }
  }
}
