package io.pipelane.loadgen.grpc;

import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.pipelane.loadgen.drive.Connection;
import io.pipelane.loadgen.network.SendingThread;
import io.pipelane.loadgen.result.Warmth;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** A channel with one HTTP/2 connection that carries one call at a time. On the run's thread. */
final class GrpcConnection implements Connection {
  /*
   * `call` is the one that counts; what an earlier one still reports is ignored. Whether the server
   * can be reached is found out by asking whether it is live, at the beginning and after every
   * call that ended without an answer of its own: a channel connects by itself, but only when it is
   * used. One that may hang is sent to rest, so that the next call has another connection. Pings
   * would find that out sooner, but servers hang up on those who ping more often than they like.
   */
  private static final long RETRY_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
  private static final long OPENING_NANOS = TimeUnit.SECONDS.toNanos(10);
  private static final byte[] NOTHING = {};
  private static final Metadata.Key<String> STALL =
      Metadata.Key.of(Warmth.STALL_HEADER, Metadata.ASCII_STRING_MARSHALLER);

  private final ManagedChannel channel;
  private final SendingThread thread;
  private final byte[][][] requests;
  private final MethodDescriptor<byte[], byte[]> serverLive = ByteCalls.serverLive();
  private final MethodDescriptor<byte[], byte[]> modelInfer;
  private final Listener listener;
  private @Nullable ClientCall<byte[], byte[]> call;
  private boolean closed;

  /**
   * Creates a connection that is not yet open.
   *
   * @param channel of its own, which calls back on the run's thread
   * @param requests by model and variant
   */
  GrpcConnection(
      ManagedChannel channel,
      SendingThread thread,
      byte[][][] requests,
      MethodDescriptor<byte[], byte[]> modelInfer,
      Listener listener) {
    this.channel = channel;
    this.thread = thread;
    this.requests = requests;
    this.modelInfer = modelInfer;
    this.listener = listener;
  }

  @Override
  public void open() {
    if (!closed) {
      ClientCall<byte[], byte[]> probe = start(serverLive, NOTHING, this::opened);
      thread.at(thread.nanoTime() + OPENING_NANOS, () -> giveUp(probe));
    }
  }

  @Override
  public void send(int model, int variant) {
    ClientCall<byte[], byte[]> _ = start(modelInfer, requests[model][variant], this::answered);
  }

  @Override
  public void abandon() {
    cancel();
    channel.enterIdle();
    open();
  }

  /** Closes the connection for good. */
  void close() {
    closed = true;
    cancel();
    channel.shutdownNow();
  }

  private void cancel() {
    ClientCall<byte[], byte[]> current = call;
    call = null;
    if (current != null) {
      current.cancel("given up", null);
    }
  }

  private ClientCall<byte[], byte[]> start(
      MethodDescriptor<byte[], byte[]> method, byte[] message, Ended ended) {
    ClientCall<byte[], byte[]> started = channel.newCall(method, CallOptions.DEFAULT);
    call = started;
    Answer answer = new Answer(started, ended);
    started.start(answer, new Metadata());
    started.request(1);
    started.sendMessage(message);
    started.halfClose();
    answer.started();
    return started;
  }

  /** A call's own deadline would end it on another thread. */
  private void giveUp(ClientCall<byte[], byte[]> probe) {
    if (probe.equals(call)) {
      cancel();
      refused(
          "the server does not say within %d s whether it is live"
              .formatted(TimeUnit.NANOSECONDS.toSeconds(OPENING_NANOS)));
    }
  }

  private void refused(String reason) {
    channel.enterIdle();
    listener.refused(reason);
    thread.at(thread.nanoTime() + RETRY_NANOS, this::open);
  }

  /** A server that is there answers, be it that it does not know the question. */
  private void opened(Status status, Answer answer) {
    if (!status.isOk() && !answer.isTheServers) {
      refused(text(status));
    } else {
      listener.ready();
    }
  }

  private void answered(Status status, Answer answer) {
    boolean isLost = status.getCode() == Status.Code.UNAVAILABLE && !answer.isTheServers;
    boolean isGood = status.isOk();
    listener.answered(
        HttpStatus.of(status.getCode()),
        isGood ? null : "gRPC " + status.getCode(),
        -1,
        answer.warmth,
        ByteBuffer.wrap(isGood ? answer.body : text(status).getBytes(StandardCharsets.UTF_8)),
        !isLost);
    if (isLost) {
      open();
    }
  }

  private static String text(Status status) {
    String text = status.getDescription() == null ? "" : status.getDescription();
    return status.getCause() == null ? text : text + " (" + status.getCause().getMessage() + ")";
  }

  /** A listener that is told that a call has ended. */
  private interface Ended {
    void ended(Status status, Answer answer);
  }

  /** A listener that gathers what one call brings. */
  private final class Answer extends ClientCall.Listener<byte[]> {
    private final ClientCall<byte[], byte[]> own;
    private final Ended ended;
    private Warmth warmth = Warmth.UNTOLD;
    private byte[] body = NOTHING;
    private boolean starting = true;

    /** Whether anything of it came from the server: what a channel says itself has no metadata. */
    private boolean isTheServers;

    Answer(ClientCall<byte[], byte[]> own, Ended ended) {
      this.own = own;
      this.ended = ended;
    }

    /** From now on the end may be reported at once. */
    void started() {
      starting = false;
    }

    @Override
    public void onHeaders(Metadata headers) {
      isTheServers = true;
      note(headers);
    }

    @Override
    public void onMessage(byte[] message) {
      body = message;
    }

    @Override
    public void onClose(Status status, Metadata trailers) {
      isTheServers |= !trailers.keys().isEmpty();
      note(trailers);
      if (starting) {
        thread.execute(() -> close(status));
      } else {
        close(status);
      }
    }

    private void close(Status status) {
      if (own.equals(call)) {
        call = null;
        ended.ended(status, this);
      }
    }

    private void note(Metadata metadata) {
      String stall = metadata.get(STALL);
      if (stall != null && stall.matches("\\d{1,18}")) {
        warmth = Warmth.ofStall(Long.parseLong(stall));
      }
    }
  }
}
