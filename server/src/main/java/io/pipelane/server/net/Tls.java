package io.pipelane.server.net;

import io.grpc.netty.GrpcSslContexts;
import io.grpc.util.AdvancedTlsX509KeyManager;
import io.netty.handler.ssl.ApplicationProtocolConfig;
import io.netty.handler.ssl.ApplicationProtocolConfig.Protocol;
import io.netty.handler.ssl.ApplicationProtocolConfig.SelectedListenerFailureBehavior;
import io.netty.handler.ssl.ApplicationProtocolConfig.SelectorFailureBehavior;
import io.netty.handler.ssl.ApplicationProtocolNames;
import io.netty.handler.ssl.ClientAuth;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslProvider;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Date;
import java.util.List;
import java.util.Optional;
import javax.net.ssl.KeyManager;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/**
 * The certificate that the front ends show, and the authorities whose clients they let in. Files
 * that change are read again for connections that come later; any one may change alone.
 */
public final class Tls implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger(Tls.class.getName());

  /** So long clients may resume a session without showing their certificate, which may expire. */
  private static final Duration LONGEST_SESSION = Duration.ofMinutes(10);

  static final String[] PROTOCOLS = {"TLSv1.3", "TLSv1.2"};

  private static final ApplicationProtocolConfig NEGOTIATION =
      new ApplicationProtocolConfig(
          Protocol.ALPN,
          SelectorFailureBehavior.NO_ADVERTISE,
          SelectedListenerFailureBehavior.ACCEPT,
          ApplicationProtocolNames.HTTP_2,
          ApplicationProtocolNames.HTTP_1_1);

  private final CertificateWatch watch;
  private final List<CertificateFiles> watched;
  private final LatestSslContext http;
  private final LatestSslContext grpc;
  private final InstantSource clock;
  private List<X509Certificate> clientAuthorities = List.of();
  private @Nullable X509Certificate shown;
  private @Nullable X509Certificate warnedOf;

  /**
   * The files, all in PEM.
   *
   * @param certificate the server's, with those that lead to its authority
   * @param key the certificate's, in PKCS #8, not encrypted
   * @param clientAuthorities who signs clients' certificates; empty asks for none
   */
  public record Files(Path certificate, Path key, Optional<Path> clientAuthorities) {}

  private final AdvancedTlsX509KeyManager identity;

  private Tls(Files files, InstantSource clock) throws IOException, GeneralSecurityException {
    this.clock = clock;
    identity = new AdvancedTlsX509KeyManager();
    http = new LatestSslContext(forHttp(List.of()));
    grpc = new LatestSslContext(forGrpc(List.of()));
    CertificateFiles own = identityOf(files);
    watched =
        files.clientAuthorities.map(file -> List.of(own, authoritiesOf(file))).orElse(List.of(own));
    for (CertificateFiles each : watched) {
      each.look();
    }
    warnOfTerm();
    watch = new CertificateWatch("tls-files", this::lookAgain);
    if (files.clientAuthorities.isPresent()) {
      watch.repeat(this::forgetSessions, LONGEST_SESSION);
    }
  }

  private CertificateFiles identityOf(Files files) {
    return new CertificateFiles(
        "the server's certificate (server.tls-certificate)",
        List.of(files.certificate, files.key),
        () -> show(TlsIdentity.read(files.certificate, files.key)));
  }

  /** One that is not valid now, or not yet, does not take another one's place. */
  private void show(TlsIdentity next) throws GeneralSecurityException {
    X509Certificate certificate = next.chain().getFirst();
    if (shown != null) {
      certificate.checkValidity(now());
    }
    identity.updateIdentityCredentials(next.chain().toArray(X509Certificate[]::new), next.key());
    shown = certificate;
  }

  private Date now() {
    return Date.from(clock.instant());
  }

  /** Says of the certificate that is in force that it is not valid, once until it is. */
  private void warnOfTerm() {
    X509Certificate certificate = shown;
    if (certificate == null) {
      return;
    }
    try {
      certificate.checkValidity(now());
      warnedOf = null;
    } catch (CertificateException e) {
      if (!certificate.equals(warnedOf)) {
        warnedOf = certificate;
        LOG.log(
            Level.WARNING,
            "the server''s certificate is not valid, so clients and other hosts refuse it: {0}; put"
                + " another one in the file that server.tls-certificate names",
            e.toString());
      }
    }
  }

  private CertificateFiles authoritiesOf(Path file) {
    return new CertificateFiles(
        "who signs clients' certificates",
        List.of(file),
        () -> letIn(TlsIdentity.certificates(file)));
  }

  private void letIn(List<X509Certificate> authorities) throws SSLException {
    http.replace(forHttp(authorities));
    grpc.replace(forGrpc(authorities));
    clientAuthorities = authorities;
  }

  private SslContext forHttp(List<X509Certificate> clientAuthorities) throws SSLException {
    return asking(clientAuthorities)
        .sslProvider(SslProvider.JDK)
        .protocols(PROTOCOLS)
        .applicationProtocolConfig(NEGOTIATION)
        .build();
  }

  private SslContext forGrpc(List<X509Certificate> clientAuthorities) throws SSLException {
    return GrpcSslContexts.configure(asking(clientAuthorities), SslProvider.JDK)
        .protocols(PROTOCOLS)
        .build();
  }

  /** Asks clients for a certificate where there are authorities that sign them. */
  private SslContextBuilder asking(List<X509Certificate> clientAuthorities) {
    SslContextBuilder builder = SslContextBuilder.forServer(identity);
    return clientAuthorities.isEmpty()
        ? builder
        : builder.trustManager(clientAuthorities).clientAuth(ClientAuth.REQUIRE);
  }

  /** Looks whether files have changed; one call at a time. */
  synchronized void lookAgain() {
    watched.forEach(CertificateFiles::lookAgain);
    warnOfTerm();
  }

  /** Has every client show its certificate where it connects next. */
  synchronized void forgetSessions() {
    try {
      letIn(clientAuthorities);
    } catch (SSLException e) {
      LOG.log(Level.WARNING, "clients may still resume their sessions of TLS", e);
    }
  }

  /**
   * Reads the files.
   *
   * @throws StatusException {@link Status#INVALID_ARGUMENT} when one cannot be used
   */
  public static Tls open(Files files) {
    return open(files, InstantSource.system());
  }

  /** The same by a clock, by which certificates are valid or not. */
  static Tls open(Files files, InstantSource clock) {
    try {
      return new Tls(files, clock);
    } catch (IOException | GeneralSecurityException | RuntimeException e) {
      throw new StatusException(
          Status.INVALID_ARGUMENT,
          "TLS cannot be had of server.tls-certificate %s, server.tls-key %s%s: %s; the certificates"
                  .formatted(
                      files.certificate,
                      files.key,
                      files
                          .clientAuthorities
                          .map(file -> ", server.tls-client-authorities " + file)
                          .orElse(""),
                      e.getMessage())
              + " must be in PEM, the key too (PKCS #8, not encrypted)",
          e);
    }
  }

  /** The certificate, for connections that this server opens itself. */
  KeyManager identity() {
    return identity;
  }

  /** For connections of HTTP/1.1 or HTTP/2, as the client likes. */
  public SslContext http() {
    return http;
  }

  /** For connections of gRPC, which speak HTTP/2. */
  public SslContext grpc() {
    return grpc;
  }

  /** Looks at the files no more. */
  @Override
  public void close() {
    watch.close();
  }
}
