package io.pipelane.server.net;

import io.grpc.ManagedChannel;
import io.grpc.netty.GrpcSslContexts;
import io.grpc.netty.NettyChannelBuilder;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.pipelane.lanes.allocation.TransferMemory;
import io.pipelane.protocol.grpc.GRPCInferenceServiceGrpc;
import io.pipelane.protocol.grpc.ServerLiveRequest;
import io.pipelane.server.grpc.GrpcServer;
import io.pipelane.server.grpc.GrpcSettings;
import io.pipelane.server.http.EchoService;
import io.pipelane.server.http.FakeCatalog;
import io.pipelane.server.http.HttpServer;
import io.pipelane.server.http.HttpSettings;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.util.Optional;
import javax.net.ssl.KeyManager;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManager;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Front ends with certificates of a test's own, and clients that trust some. */
@Timeout(60)
abstract class TlsFixture {
  @TempDir static Path folder;

  @BeforeAll
  static void makeCertificates() throws Exception {
    make("server");
    make("client");
  }

  static void make(String name) throws Exception {
    Certificates.make(folder, name);
  }

  static Tls tls(boolean mutual) {
    return Tls.open(
        new Tls.Files(
            folder.resolve("server.pem"),
            folder.resolve("server.key"),
            mutual ? Optional.of(folder.resolve("client.pem")) : Optional.empty()));
  }

  static TransferMemory transferMemory() {
    return new TransferMemory(Arena.ofAuto().allocate(1 << 20));
  }

  static HttpServer http(Tls tls) {
    HttpSettings settings =
        new HttpSettings(
            "127.0.0.1",
            0,
            Transport.AUTO,
            1,
            8 << 20,
            8,
            Duration.ofSeconds(20),
            Optional.of(tls));
    return HttpServer.start(
        settings, Backends.of(FakeCatalog.usual(), EchoService.inline()), transferMemory());
  }

  static GrpcServer grpc(Tls tls) {
    GrpcSettings settings =
        new GrpcSettings(
            "127.0.0.1",
            0,
            Transport.AUTO,
            1,
            8 << 20,
            16,
            Duration.ofSeconds(20),
            Optional.of(tls));
    return GrpcServer.start(
        settings, Backends.of(FakeCatalog.usual(), EchoService.inline()), transferMemory());
  }

  /** What trusts a server, and may have something to show to those that ask for a certificate. */
  static SSLContext trusting(Path certificate, KeyManager... own) throws Exception {
    var trust =
        io.grpc.util.AdvancedTlsX509TrustManager.newBuilder()
            .setVerification(
                io.grpc.util.AdvancedTlsX509TrustManager.Verification.CERTIFICATE_ONLY_VERIFICATION)
            .build();
    trust.updateTrustCredentials(certificate.toFile());
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(own, new TrustManager[] {trust}, null);
    return context;
  }

  static String get(InetSocketAddress address) throws Exception {
    return get(address, trusting(folder.resolve("server.pem")), "TLSv1.3");
  }

  static String get(InetSocketAddress address, SSLContext client, String protocol)
      throws IOException {
    try (SSLSocket socket =
        (SSLSocket)
            client.getSocketFactory().createSocket(address.getAddress(), address.getPort())) {
      socket.setEnabledProtocols(new String[] {protocol});
      socket
          .getOutputStream()
          .write(
              "GET /v2 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
                  .getBytes(StandardCharsets.US_ASCII));
      return new String(socket.getInputStream().readAllBytes(), StandardCharsets.US_ASCII);
    }
  }

  static boolean isLive(InetSocketAddress address, boolean withCertificate) throws Exception {
    SslContextBuilder context =
        GrpcSslContexts.forClient().trustManager(folder.resolve("server.pem").toFile());
    if (withCertificate) {
      context.keyManager(
          folder.resolve("client.pem").toFile(), folder.resolve("client.key").toFile());
    }
    return isLive(address, context.build());
  }

  static boolean isLive(InetSocketAddress address, SslContext context) {
    ManagedChannel channel =
        NettyChannelBuilder.forAddress("127.0.0.1", address.getPort()).sslContext(context).build();
    try {
      return GRPCInferenceServiceGrpc.newBlockingStub(channel)
          .serverLive(ServerLiveRequest.getDefaultInstance())
          .getLive();
    } finally {
      channel.shutdownNow();
    }
  }

  /** Puts one file in another's place, at a time of its own. */
  static void replace(String name, byte[] content, long seconds) throws IOException {
    Path file = folder.resolve(name);
    Files.write(file, content);
    Files.setLastModifiedTime(file, FileTime.fromMillis(1000 * seconds));
  }

  static byte[] bytes(String name) throws IOException {
    return Files.readAllBytes(folder.resolve(name));
  }
}
