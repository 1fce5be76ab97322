package io.pipelane.server.grpc;

import static org.junit.jupiter.api.Assertions.assertThrows;

import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.StreamObserver;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Timeout;

/** Codes of refusals over gRPC, and answers of streams that are collected. */
@Timeout(60)
abstract class GrpcServerFixture {
  static Code code(Runnable call) {
    return assertThrows(StatusRuntimeException.class, call::run).getStatus().getCode();
  }

  static <T> StreamObserver<T> collecting(BlockingQueue<T> answers, CountDownLatch ended) {
    return new StreamObserver<>() {
      @Override
      public void onNext(T answer) {
        answers.add(answer);
      }

      @Override
      public void onError(Throwable error) {
        ended.countDown();
      }

      @Override
      public void onCompleted() {
        ended.countDown();
      }
    };
  }
}
