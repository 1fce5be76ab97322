package io.pipelane.bench.bare;

import io.grpc.Server;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.StreamObserver;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.pipelane.protocol.grpc.GRPCInferenceServiceGrpc;
import io.pipelane.protocol.grpc.ModelInferRequest;
import io.pipelane.protocol.grpc.ModelInferRequest.InferInputTensor;
import io.pipelane.protocol.grpc.ModelInferResponse;
import io.pipelane.protocol.grpc.ModelInferResponse.InferOutputTensor;
import io.pipelane.server.net.Transport;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;

/**
 * A gRPC server made of generated code alone, that gives a request's tensors back: what grpc-java
 * can do at most. Calls run on the event loops.
 */
public final class BareGrpcServer implements AutoCloseable {
  private static final int FLOW_CONTROL_WINDOW = 4 << 20;

  private final EventLoopGroup loops;
  private final Server server;

  /** Listens on a free port of the loopback address. */
  public BareGrpcServer(int eventLoops) throws IOException {
    Transport transport = Transport.AUTO.resolve();
    loops = new MultiThreadIoEventLoopGroup(eventLoops, transport.ioHandlers());
    server =
        NettyServerBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
            .bossEventLoopGroup(loops)
            .workerEventLoopGroup(loops)
            .channelType(transport.serverChannel())
            .withChildOption(ChannelOption.TCP_NODELAY, true)
            .directExecutor()
            .flowControlWindow(FLOW_CONTROL_WINDOW)
            .addService(new Echo())
            .build()
            .start();
  }

  /**
   * The program of a process with such a server, which ends with its standard input. Argument: the
   * number of event loops.
   */
  public static void main(String[] arguments) throws IOException {
    try (BareGrpcServer server = new BareGrpcServer(Integer.parseInt(arguments[0]))) {
      System.out.println("Listening on grpc://127.0.0.1:" + server.server.getPort());
      System.out.flush();
      System.in.transferTo(OutputStream.nullOutputStream());
    }
  }

  @Override
  public void close() {
    server.shutdownNow();
    loops.close();
  }

  /** A service that gives inputs back as outputs. */
  private static final class Echo extends GRPCInferenceServiceGrpc.GRPCInferenceServiceImplBase {
    @Override
    public void modelInfer(ModelInferRequest request, StreamObserver<ModelInferResponse> answers) {
      ModelInferResponse.Builder answer =
          ModelInferResponse.newBuilder()
              .setModelName(request.getModelName())
              .setModelVersion(request.getModelVersion())
              .addAllRawOutputContents(request.getRawInputContentsList());
      for (InferInputTensor input : request.getInputsList()) {
        answer.addOutputs(
            InferOutputTensor.newBuilder()
                .setName(input.getName())
                .setDatatype(input.getDatatype())
                .addAllShape(input.getShapeList()));
      }
      answers.onNext(answer.build());
      answers.onCompleted();
    }
  }
}
