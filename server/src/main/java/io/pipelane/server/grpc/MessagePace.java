package io.pipelane.server.grpc;

import io.grpc.Context;
import io.grpc.Context.CancellableContext;
import io.grpc.ForwardingServerCallListener.SimpleForwardingServerCallListener;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.ServerStreamTracer;
import io.grpc.Status;
import io.pipelane.server.net.LeastPace;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * The watch over calls whose messages come too slowly, which it ends. A message that is under way
 * all through a period must bring the least of bytes in it. A stream may be silent between its
 * messages for as long as it likes.
 */
final class MessagePace extends ServerStreamTracer.Factory implements ServerInterceptor {
  /*
   * A call costs nothing but its place among the unfinished: nobody looks at a clock for it. What a
   * call counts is written by the thread that takes its messages apart, what was seen of it by `look`
   * alone. A call is ended by the context that its own is made in, which gRPC allows on any thread,
   * whatever the call does meanwhile.
   */

  private static final Context.Key<Call> CALL = Context.key("pace");

  private final Set<Call> unfinished = ConcurrentHashMap.newKeySet();
  private final long leastBytes;

  /**
   * One that knows no calls.
   *
   * @param period after which {@link #look} is called, each time
   */
  MessagePace(Duration period) {
    this.leastBytes = LeastPace.bytesIn(period);
  }

  @Override
  public ServerStreamTracer newServerStreamTracer(String method, Metadata headers) {
    return new Call();
  }

  @Override
  public <Q, A> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
    Call paced = CALL.get();
    if (paced == null || !call.getMethodDescriptor().getType().clientSendsOneMessage()) {
      return next.startCall(call, headers);
    }
    paced.isSingle = true;
    unfinished.add(paced);
    return new SimpleForwardingServerCallListener<>(next.startCall(call, headers)) {
      @Override
      public void onHalfClose() {
        unfinished.remove(paced);
        super.onHalfClose();
      }
    };
  }

  /** Ends what was too slow since it was looked last; one thread at a time. */
  void look() {
    unfinished.forEach(Call::look);
  }

  /** One call, whose single message is under way until the client has ended its side. */
  private final class Call extends ServerStreamTracer {
    private volatile @Nullable CancellableContext context;
    private volatile boolean isSingle;
    private volatile int message;
    private volatile long bytes;
    private int seenMessage = -1;
    private long seenBytes;

    @Override
    public Context filterContext(Context outer) {
      CancellableContext made = outer.withValue(CALL, this).withCancellation();
      context = made;
      return made;
    }

    @Override
    public void inboundMessage(int number) {
      message = number;
      unfinished.add(this);
    }

    @Override
    @SuppressWarnings("NonAtomicVolatileUpdate") // one writer
    public void inboundWireSize(long more) {
      bytes += more;
    }

    @Override
    public void inboundMessageRead(int number, long wireSize, long size) {
      if (!isSingle) {
        unfinished.remove(this);
      }
    }

    @Override
    public void streamClosed(Status status) {
      unfinished.remove(this);
    }

    void look() {
      long came = bytes;
      boolean tooSlow = message == seenMessage && came - seenBytes < leastBytes;
      seenMessage = message;
      seenBytes = came;
      CancellableContext ending = context;
      if (tooSlow && ending != null && unfinished.remove(this)) {
        ending.cancel(
            new TimeoutException(
                "the message comes slower than %d bytes a second"
                    .formatted(LeastPace.BYTES_PER_SECOND)));
      }
    }
  }
}
