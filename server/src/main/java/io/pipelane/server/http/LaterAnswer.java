package io.pipelane.server.http;

import io.pipelane.config.StatusException;
import io.pipelane.server.http.message.Response;
import io.pipelane.server.net.ServerFault;
import java.lang.System.Logger.Level;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;

/** The answer of an exchange to what another thread has done: it is given on the event loop. */
final class LaterAnswer {
  private static final System.Logger LOG = System.getLogger(LaterAnswer.class.getName());

  private LaterAnswer() {}

  /**
   * Does something on an exchange's event loop, behind what the loop is doing. Whatever that throws
   * closes the connection, as nothing else would answer.
   *
   * @param giveUp done instead, here, where the loop takes nothing any more
   */
  static void onLoop(Exchange exchange, Runnable action, Runnable giveUp) {
    try {
      exchange.loop().execute(() -> run(exchange, action));
    } catch (RejectedExecutionException e) {
      giveUp.run();
    }
  }

  private static void run(Exchange exchange, Runnable action) {
    try {
      action.run();
    } catch (RuntimeException | Error e) {
      exchange.failed(e);
    }
  }

  /** Answers with nothing once something is done, or with why it is not. */
  static void whenDone(Exchange exchange, CompletableFuture<Void> done) {
    whenDone(exchange, done, () -> exchange.answer(Response.ok(exchange.allocator(), _ -> {})));
  }

  /** The same with an answer; it may throw a StatusException. */
  static void whenDone(Exchange exchange, CompletableFuture<Void> done, Runnable answer) {
    CompletableFuture<Void> _ =
        done.whenComplete(
            (_, error) ->
                onLoop(
                    exchange,
                    () -> answer(exchange, error, answer),
                    () -> LOG.log(Level.DEBUG, "an answer came after the server closed")));
  }

  private static void answer(Exchange exchange, @Nullable Throwable error, Runnable answer) {
    if (error != null) {
      exchange.answer(ServerFault.unlessSaid(error));
      return;
    }
    try {
      answer.run();
    } catch (StatusException e) { // It has left since.
      exchange.answer(e);
    }
  }
}
