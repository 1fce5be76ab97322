package io.pipelane.loadgen.grpc;

import io.grpc.MethodDescriptor;
import io.pipelane.loadgen.drive.Connection;
import io.pipelane.loadgen.drive.Transport;
import io.pipelane.loadgen.network.SendingThread;
import io.pipelane.loadgen.settings.Endpoint;
import io.pipelane.loadgen.settings.LoadTest;
import io.pipelane.loadgen.settings.ModelRequests;
import io.pipelane.loadgen.settings.PreparedRequest;
import io.pipelane.loadgen.settings.ResponseCheck;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * gRPC, with TLS where the address asks for it; each connection is an HTTP/2 connection of its own
 * and carries a call at a time.
 */
public final class GrpcTransport implements Transport {
  private final SendingThread thread = new SendingThread();
  private final Endpoint endpoint;
  private final byte[][][] requests;
  private final MethodDescriptor<byte[], byte[]> modelInfer;
  private final List<GrpcConnection> connections = new ArrayList<>();

  /** Prepares the event loop and the bytes of all requests; opens nothing. */
  public GrpcTransport(LoadTest test) {
    endpoint = test.endpoint();
    requests = test.models().stream().map(GrpcTransport::messages).toArray(byte[][][]::new);
    modelInfer = ByteCalls.modelInfer(!test.check().equals(ResponseCheck.NONE));
  }

  @Override
  public long nanoTime() {
    return thread.nanoTime();
  }

  @Override
  public void at(long nanoTime, Runnable task) {
    thread.at(nanoTime, task);
  }

  @Override
  public void execute(Runnable task) {
    thread.execute(task);
  }

  @Override
  public Connection create(Connection.Listener listener) {
    GrpcConnection connection =
        new GrpcConnection(
            Channels.to(endpoint)
                .eventLoopGroup(thread.group())
                .channelType(thread.channel())
                .build(),
            thread,
            requests,
            modelInfer,
            listener);
    connections.add(connection);
    return connection;
  }

  @Override
  public void close() {
    thread.execute(() -> connections.forEach(GrpcConnection::close));
    thread.close();
  }

  private static byte[][] messages(ModelRequests model) {
    return model.variants().stream()
        .map(PreparedRequest::body)
        .map(GrpcTransport::bytes)
        .toArray(byte[][]::new);
  }

  private static byte[] bytes(ByteBuffer body) {
    byte[] bytes = new byte[body.remaining()];
    body.get(bytes);
    return bytes;
  }
}
