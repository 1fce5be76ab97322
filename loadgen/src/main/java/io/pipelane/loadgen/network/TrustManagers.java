package io.pipelane.loadgen.network;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.loadgen.settings.Trust;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509ExtendedTrustManager;
import org.jspecify.annotations.Nullable;

/** The judges of certificates that settings ask for. */
public final class TrustManagers {
  private TrustManagers() {}

  /**
   * The judge of a setting.
   *
   * @throws StatusException {@link Status#INVALID_ARGUMENT} when the file of authorities cannot be
   *     read or holds no certificate
   */
  public static TrustManager of(Trust trust) {
    try {
      return switch (trust) {
        case Trust.Known _ -> judging(null);
        case Trust.Authorities(Path file) -> judging(authorities(file));
        case Trust.Anybody _ -> new TrustingAnybody();
      };
    } catch (IOException | GeneralSecurityException e) {
      throw new StatusException(
          Status.INVALID_ARGUMENT, "cannot use the authorities of " + trust + ": " + e, e);
    }
  }

  private static TrustManager judging(@Nullable KeyStore authorities)
      throws GeneralSecurityException {
    TrustManagerFactory factory =
        TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    factory.init(authorities);
    return factory.getTrustManagers()[0];
  }

  private static KeyStore authorities(Path file) throws IOException, GeneralSecurityException {
    KeyStore authorities = KeyStore.getInstance(KeyStore.getDefaultType());
    authorities.load(null, null);
    try (InputStream in = Files.newInputStream(file)) {
      for (Certificate certificate :
          CertificateFactory.getInstance("X.509").generateCertificates(in)) {
        authorities.setCertificateEntry("authority " + authorities.size(), certificate);
      }
    }
    if (authorities.size() == 0) {
      throw new CertificateException(file + " holds no certificate");
    }
    return authorities;
  }

  /**
   * A trust manager that accepts any certificate; being of the extended kind, it is asked about the
   * server's name as well.
   */
  private static final class TrustingAnybody extends X509ExtendedTrustManager {
    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type) {}

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type) {}

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type, Socket socket) {}

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type, Socket socket) {}

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type, SSLEngine engine) {}

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type, SSLEngine engine) {}

    @Override
    public X509Certificate[] getAcceptedIssuers() {
      return new X509Certificate[0];
    }
  }
}
