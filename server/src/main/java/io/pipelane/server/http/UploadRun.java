package io.pipelane.server.http;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.repository.IncomingVersion;
import io.pipelane.modelstore.repository.IncomingVersion.Stored;
import io.pipelane.server.access.Caller;
import io.pipelane.server.access.ManagementLog;
import io.pipelane.server.http.message.Response;
import io.pipelane.server.http.message.Route;
import io.pipelane.server.net.ServerFault;
import io.pipelane.server.protocol.Answers;
import io.pipelane.server.protocol.UploadProgress;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Optional;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;

/** A version of a model on its way from a request's body to the repository. */
final class UploadRun {
  /*
   * The event loop adds pieces, the end, and says when the client has gone; a thread of its own
   * takes them and waits for the disk. The monitor guards `pieces`, `behind`, `ended` and `closed`.
   * A piece is released by whoever takes it out, or by `add` once the thread has closed.
   */

  /** Bytes that may wait for the disk before the connection is read no further. */
  private static final long MOST_BEHIND = 4 << 20;

  private static final Duration RETRY_AFTER = Duration.ofSeconds(10);

  private final Exchange exchange;
  private final Caller caller;
  private final Route.Upload route;
  private final Uploads all;
  private final Optional<byte[]> digest;
  private final Deque<ByteBuf> pieces = new ArrayDeque<>();
  private long behind;
  private boolean ended;
  private boolean closed;
  private boolean abandoned;

  /** Written by the upload's own thread; outlives the run. */
  private final AtomicReference<UploadProgress> progress;

  private UploadRun(
      Exchange exchange, Route.Upload route, Uploads all, Optional<byte[]> digest, long announced) {
    this.exchange = exchange;
    this.caller = exchange.caller();
    this.route = route;
    this.all = all;
    this.digest = digest;
    this.progress = new AtomicReference<>(UploadProgress.begun(announced));
  }

  /**
   * Begins to take a body in; on the exchange's event loop.
   *
   * @param route names the version
   * @param opening makes it; called on the upload's own thread
   * @param digest the body's SHA-256 as the client knows it
   * @param announced the body's length; -1 where the client does not say
   * @throws StatusException when too many uploads are under way
   */
  static UploadRun start(
      Exchange exchange,
      Route.Upload route,
      Supplier<IncomingVersion> opening,
      Optional<byte[]> digest,
      long announced,
      Uploads all) {
    if (!all.tryBegin()) {
      throw StatusException.unavailable(
          Uploads.MAXIMUM_RUNNING + " uploads are under way, as many as there may be", RETRY_AFTER);
    }
    UploadRun run = new UploadRun(exchange, route, all, digest, announced);
    Thread.ofPlatform()
        .name("upload")
        .daemon()
        .start(
            () -> {
              try {
                run.store(opening);
              } finally {
                run.close();
                all.ended();
              }
            });
    return run;
  }

  /** Adds a piece; the caller keeps its reference. */
  synchronized void add(ByteBuf piece) {
    if (!closed && piece.isReadable()) {
      pieces.add(piece.retainedSlice());
      behind += piece.readableBytes();
      notifyAll();
    }
  }

  /** The body has come to its end. */
  synchronized void end() {
    ended = true;
    notifyAll();
  }

  /** Nothing comes of it any more, unless it has come already. */
  synchronized void abandon() {
    abandoned = true;
    end();
  }

  /** Whether no more should be read for now; {@link Exchange#readOn} follows. */
  synchronized boolean isBehind() {
    return behind > MOST_BEHIND;
  }

  /** The next piece; empty at the end. */
  private synchronized ByteBuf take() throws InterruptedException {
    while (pieces.isEmpty() && !ended) {
      wait();
    }
    return pieces.isEmpty() || abandoned ? Unpooled.EMPTY_BUFFER : pieces.remove();
  }

  private void store(Supplier<IncomingVersion> opening) {
    try (IncomingVersion version = opening.get()) {
      all.note(route.model(), route.version(), progress);
      for (ByteBuf piece = take(); piece.isReadable(); piece = take()) {
        write(piece, version);
      }
      if (isAbandoned()) {
        progress.set(progress.get().failed("the client has gone"));
      } else {
        requireSomething();
        progress.set(progress.get().storing());
        Stored stored = version.finish(digest);
        progress.set(progress.get().stored(stored));
        ManagementLog.tell(caller, stored.version() + " has been uploaded");
        answer(
            Response.of(
                HttpResponseStatus.CREATED,
                exchange.allocator(),
                target -> Answers.stored(target, stored)));
      }
    } catch (StatusException e) {
      fail(e);
    } catch (IOException e) {
      fail(StatusException.unavailable("the upload cannot be stored: " + e, RETRY_AFTER));
    } catch (InterruptedException | RuntimeException | OutOfMemoryError e) {
      fail(ServerFault.of(e));
    }
  }

  private void requireSomething() {
    if (progress.get().bytes() == 0) {
      throw new StatusException(
          Status.INVALID_ARGUMENT,
          "the body has no byte; send the version's model.onnx, or a zip of its folder");
    }
  }

  private void fail(StatusException error) {
    progress.set(progress.get().failed(String.valueOf(error.getMessage())));
    all.noteUnlessKnown(route.model(), route.version(), progress);
    answer(Response.error(error, exchange.allocator()).closing());
  }

  private void write(ByteBuf piece, IncomingVersion version) throws IOException {
    try {
      for (ByteBuffer part : piece.nioBuffers()) {
        version.write(part);
      }
      progress.set(progress.get().written(piece.readableBytes()));
    } finally {
      taken(piece.readableBytes());
      piece.release();
    }
  }

  private synchronized void taken(int bytes) {
    boolean before = isBehind();
    behind -= bytes;
    if (before && !isBehind()) {
      onLoop(exchange::readOn, () -> {});
    }
  }

  private synchronized boolean isAbandoned() {
    return abandoned;
  }

  private void answer(Response response) {
    onLoop(() -> exchange.answer(response), response::release);
  }

  private void onLoop(Runnable action, Runnable giveUp) {
    try {
      exchange.loop().execute(action);
    } catch (RejectedExecutionException e) {
      giveUp.run();
    }
  }

  private synchronized void close() {
    closed = true;
    if (!progress.get().hasEnded()) {
      progress.set(progress.get().failed("a fault of the server"));
    }
    behind = 0;
    pieces.forEach(ByteBuf::release);
    pieces.clear();
  }
}
