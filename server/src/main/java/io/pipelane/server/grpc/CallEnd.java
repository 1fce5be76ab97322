package io.pipelane.server.grpc;

import io.grpc.stub.StreamObserver;
import io.pipelane.config.StatusException;
import io.pipelane.server.net.ServerFault;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

/** The end of a call that has one answer, or a reason why it has none. Safe for any thread. */
final class CallEnd {
  private CallEnd() {}

  /** Answers with what is supplied now, or with why there is none. */
  static <T> void answer(StreamObserver<T> observer, Supplier<T> answer) {
    try {
      observer.onNext(answer.get());
      observer.onCompleted();
    } catch (RuntimeException e) {
      fail(observer, ServerFault.unlessSaid(e));
    }
  }

  /** Answers once an operation has ended, or with why it has failed. */
  static <T> void answerWhenDone(
      StreamObserver<T> observer, Supplier<CompletableFuture<Void>> operation, T answer) {
    try {
      CompletableFuture<Void> _ =
          operation
              .get()
              .whenComplete(
                  (_, error) -> {
                    if (error == null) {
                      answer(observer, () -> answer);
                    } else {
                      fail(observer, ServerFault.unlessSaid(error));
                    }
                  });
    } catch (RuntimeException e) {
      fail(observer, ServerFault.unlessSaid(e));
    }
  }

  /** Answers with why there is no answer. */
  static void fail(StreamObserver<?> observer, StatusException error) {
    observer.onError(
        GrpcStatusMapping.status(error).asRuntimeException(GrpcStatusMapping.trailers(error)));
  }
}
