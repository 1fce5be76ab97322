package io.pipelane.server.cli;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** Whose certificates a client of a server accepts. */
final class ClientTrust {
  private ClientTrust() {}

  /**
   * Accepts what some authorities have signed, and nothing else.
   *
   * @param authorities certificates in PEM
   * @throws StatusException when the file cannot be used
   */
  static SSLContext in(Path authorities) {
    try (InputStream file = Files.newInputStream(authorities)) {
      KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
      store.load(null, null);
      int count = 0;
      for (Certificate authority :
          CertificateFactory.getInstance("X.509").generateCertificates(file)) {
        store.setCertificateEntry("authority " + count++, authority);
      }
      TrustManagerFactory trust =
          TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
      trust.init(store);
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(null, trust.getTrustManagers(), null);
      return context;
    } catch (IOException | GeneralSecurityException e) {
      throw new StatusException(
          Status.INVALID_ARGUMENT,
          "--ca: " + authorities + " cannot be used as certificates in PEM: " + e,
          e);
    }
  }
}
