package io.pipelane.server.grpc;

import io.grpc.ClientInterceptor;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.MetadataUtils;
import io.pipelane.lanes.allocation.TransferMemory;
import io.pipelane.protocol.grpc.GRPCInferenceServiceGrpc;
import io.pipelane.protocol.grpc.GRPCInferenceServiceGrpc.GRPCInferenceServiceBlockingStub;
import io.pipelane.server.access.AccessControl;
import io.pipelane.server.hosts.Hosts;
import io.pipelane.server.http.FakeCatalog;
import io.pipelane.server.net.Backend;
import io.pipelane.server.net.Backends;
import io.pipelane.server.net.Transport;
import io.pipelane.switcher.InferenceService;
import java.lang.foreign.Arena;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/** A server with models that echo, and a client's channel to it. */
final class GrpcConversation implements AutoCloseable {
  static final int LARGEST_MESSAGE = 8 << 20;

  private static final long TRANSFER_BYTES = 16 << 20;

  final FakeCatalog catalog = FakeCatalog.usual();
  final TransferMemory transferMemory = new TransferMemory(Arena.ofAuto().allocate(TRANSFER_BYTES));
  final GrpcServer server;
  final ManagedChannel channel;

  GrpcConversation(InferenceService service) {
    this(service, AccessControl.open());
  }

  GrpcConversation(InferenceService service, AccessControl access) {
    this(catalog -> Backends.of(catalog, service, access));
  }

  GrpcConversation(Function<FakeCatalog, Backend> backend) {
    this(backend, Optional.empty());
  }

  /** One whose calls must be quicker. */
  GrpcConversation(InferenceService service, Duration idleTimeout) {
    this(catalog -> Backends.of(catalog, service), Optional.empty(), idleTimeout);
  }

  /** One that other hosts may answer for. */
  GrpcConversation(Function<FakeCatalog, Backend> backend, Optional<Hosts> hosts) {
    this(backend, hosts, Duration.ofSeconds(60));
  }

  private GrpcConversation(
      Function<FakeCatalog, Backend> backend, Optional<Hosts> hosts, Duration idleTimeout) {
    GrpcSettings settings =
        new GrpcSettings(
            "127.0.0.1", 0, Transport.AUTO, 2, LARGEST_MESSAGE, 100, idleTimeout, Optional.empty());
    server = GrpcServer.start(settings, backend.apply(catalog), hosts, transferMemory);
    channel =
        NettyChannelBuilder.forAddress(server.address())
            .usePlaintext()
            .maxInboundMessageSize(Integer.MAX_VALUE)
            .build();
  }

  GRPCInferenceServiceBlockingStub client() {
    return GRPCInferenceServiceGrpc.newBlockingStub(channel)
        .withDeadlineAfter(30, TimeUnit.SECONDS);
  }

  /** The same, sending a key along. */
  GRPCInferenceServiceBlockingStub client(String key) {
    return client().withInterceptors(key(key));
  }

  ClientInterceptor key(String key) {
    return header("authorization", "Bearer " + key);
  }

  ClientInterceptor header(String name, String value) {
    Metadata headers = new Metadata();
    headers.put(Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER), value);
    return MetadataUtils.newAttachHeadersInterceptor(headers);
  }

  @Override
  public void close() {
    channel.shutdownNow();
    server.close();
  }
}
