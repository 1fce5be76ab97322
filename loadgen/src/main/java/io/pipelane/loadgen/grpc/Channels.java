package io.pipelane.loadgen.grpc;

import io.grpc.Metadata;
import io.grpc.netty.GrpcSslContexts;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.MetadataUtils;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.ByteSize;
import io.pipelane.loadgen.network.TrustManagers;
import io.pipelane.loadgen.settings.Endpoint;
import java.net.InetSocketAddress;
import javax.net.ssl.SSLException;

/** Channels to a server, each with a connection of its own. */
final class Channels {
  private static final ByteSize MAXIMUM_MESSAGE = ByteSize.ofMebibytes(256);

  private Channels() {}

  /** A channel that sends every call once and reports every failure. */
  static NettyChannelBuilder to(Endpoint endpoint) {
    NettyChannelBuilder builder =
        NettyChannelBuilder.forAddress(new InetSocketAddress(endpoint.host(), endpoint.port()))
            .maxInboundMessageSize((int) MAXIMUM_MESSAGE.bytes())
            .disableRetry()
            .intercept(MetadataUtils.newAttachHeadersInterceptor(metadata(endpoint)))
            .directExecutor();
    if (!endpoint.isSecured()) {
      return builder.usePlaintext();
    }
    try {
      return builder.sslContext(
          GrpcSslContexts.forClient().trustManager(TrustManagers.of(endpoint.trust())).build());
    } catch (SSLException e) {
      throw new StatusException(Status.INTERNAL, "cannot set up TLS: " + e, e);
    }
  }

  private static Metadata metadata(Endpoint endpoint) {
    Metadata metadata = new Metadata();
    endpoint
        .headers()
        .forEach(
            (name, value) ->
                metadata.put(Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER), value));
    return metadata;
  }
}
