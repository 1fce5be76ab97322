package io.pipelane.server.net;

import io.grpc.netty.GrpcSslContexts;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslProvider;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.io.IOException;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.cert.X509Certificate;
import java.util.List;
import java.util.Optional;
import javax.net.ssl.SSLException;

/**
 * What the connections trust and show that this server opens itself, to other hosts and to etcd.
 * The file of whom they trust is read again when it changes, for connections that come later.
 */
public final class OutgoingTls implements AutoCloseable {
  private final Optional<Tls> own;
  private final Optional<CertificateFiles> watched;
  private final LatestSslContext http;
  private final LatestSslContext grpc;
  private final Optional<CertificateWatch> watch;

  private OutgoingTls(Optional<Path> authorities, Optional<Tls> own)
      throws IOException, GeneralSecurityException {
    this.own = own;
    http = new LatestSslContext(forHttp(List.of()));
    grpc = new LatestSslContext(forGrpc(List.of()));
    watched = authorities.map(this::authoritiesOf);
    if (watched.isPresent()) {
      watched.get().look();
    }
    watch = watched.map(_ -> new CertificateWatch("hosts-authorities", this::lookAgain));
  }

  /**
   * Reads the file.
   *
   * @param authorities who must have signed the other's certificate, in PEM; those that Java trusts
   *     if empty
   * @param own shown to those that ask for a certificate, if there is one
   * @throws StatusException {@link Status#INVALID_ARGUMENT} when the file cannot be used
   */
  public static OutgoingTls open(Optional<Path> authorities, Optional<Tls> own) {
    try {
      return new OutgoingTls(authorities, own);
    } catch (IOException | GeneralSecurityException | RuntimeException e) {
      throw new StatusException(
          Status.INVALID_ARGUMENT,
          "hosts.authorities, %s, cannot be used: %s; it is a file of certificates in PEM"
              .formatted(authorities.map(Path::toString).orElse("not set"), e.getMessage()),
          e);
    }
  }

  private CertificateFiles authoritiesOf(Path file) {
    return new CertificateFiles(
        "who signs certificates of hosts and etcd",
        List.of(file),
        () -> trust(TlsIdentity.certificates(file)));
  }

  private void trust(List<X509Certificate> authorities) throws SSLException {
    http.replace(forHttp(authorities));
    grpc.replace(forGrpc(authorities));
  }

  private SslContext forHttp(List<X509Certificate> authorities) throws SSLException {
    return trusting(authorities, SslContextBuilder.forClient().sslProvider(SslProvider.JDK));
  }

  private SslContext forGrpc(List<X509Certificate> authorities) throws SSLException {
    return trusting(
        authorities, GrpcSslContexts.configure(SslContextBuilder.forClient(), SslProvider.JDK));
  }

  /** Trusts whom Java does where no authorities are named. */
  private SslContext trusting(List<X509Certificate> authorities, SslContextBuilder builder)
      throws SSLException {
    if (!authorities.isEmpty()) {
      builder.trustManager(authorities);
    }
    own.ifPresent(tls -> builder.keyManager(tls.identity()));
    return builder.protocols(Tls.PROTOCOLS).build();
  }

  /** Looks whether the file has changed; one call at a time. */
  synchronized void lookAgain() {
    watched.ifPresent(CertificateFiles::lookAgain);
  }

  /** For connections of HTTP/1.1. */
  public SslContext http() {
    return http;
  }

  /** For connections of gRPC. */
  public SslContext grpc() {
    return grpc;
  }

  /** Looks at the file no more. */
  @Override
  public void close() {
    watch.ifPresent(CertificateWatch::close);
  }
}
