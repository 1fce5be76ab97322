package io.pipelane.server.cli;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.server.net.TlsIdentity;
import java.io.IOException;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import org.jspecify.annotations.Nullable;

/** The TLS settings of a server's client: whose certificates it accepts, and whom it says it is. */
final class ClientTls {
  private static final char[] NO_PASSWORD = {};

  private ClientTls() {}

  /**
   * A client's TLS.
   *
   * @param authorities certificates in PEM, whose signatures alone are accepted; null for the JDK's
   * @param certificate the client's own in PEM, with those that lead to its authority; null where
   *     it says nothing of itself
   * @param key of the certificate, in PKCS #8, not encrypted; null without one
   * @throws StatusException when a file cannot be used, or one of certificate and key is missing
   */
  static SSLContext of(@Nullable Path authorities, @Nullable Path certificate, @Nullable Path key) {
    try {
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(
          certificate == null && key == null ? null : identity(certificate, key).getKeyManagers(),
          authorities == null ? null : trust(authorities).getTrustManagers(),
          null);
      return context;
    } catch (GeneralSecurityException e) {
      throw refused("--ca, --cert: TLS cannot be set up", e);
    }
  }

  private static TrustManagerFactory trust(Path authorities) {
    try {
      KeyStore store = emptyStore();
      int count = 0;
      for (Certificate authority : TlsIdentity.certificates(authorities)) {
        store.setCertificateEntry("authority " + count++, authority);
      }
      TrustManagerFactory trust =
          TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
      trust.init(store);
      return trust;
    } catch (IOException | GeneralSecurityException e) {
      throw refused("--ca: " + authorities + " cannot be used as certificates in PEM", e);
    }
  }

  private static KeyManagerFactory identity(@Nullable Path certificate, @Nullable Path key) {
    if (certificate == null || key == null) {
      throw new StatusException(
          Status.INVALID_ARGUMENT, "--cert and --key belong together: give both, or neither");
    }
    try {
      TlsIdentity identity = TlsIdentity.read(certificate, key);
      KeyStore store = emptyStore();
      store.setKeyEntry(
          "client", identity.key(), NO_PASSWORD, identity.chain().toArray(Certificate[]::new));
      KeyManagerFactory keys =
          KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
      keys.init(store, NO_PASSWORD);
      return keys;
    } catch (IOException | GeneralSecurityException | IllegalArgumentException e) {
      throw refused("--cert " + certificate + ", --key " + key + " cannot be used", e);
    }
  }

  private static KeyStore emptyStore() throws IOException, GeneralSecurityException {
    KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
    store.load(null, null);
    return store;
  }

  private static StatusException refused(String what, Exception cause) {
    return new StatusException(Status.INVALID_ARGUMENT, what + ": " + cause, cause);
  }
}
