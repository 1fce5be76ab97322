package io.pipelane.server.net;

import io.grpc.util.CertificateUtils;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.InvalidKeyException;
import java.security.PrivateKey;
import java.security.Signature;
import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;
import java.util.List;

/**
 * The identity of a server or a client: a certificate, those that lead to its authority, and its
 * key.
 *
 * @param chain its own first
 */
public record TlsIdentity(List<X509Certificate> chain, PrivateKey key) {
  private static final byte[] SAMPLE = {1, 2, 3, 4};

  public TlsIdentity {
    chain = List.copyOf(chain);
  }

  /**
   * Reads it from files in PEM.
   *
   * @param key in PKCS #8, not encrypted
   * @throws GeneralSecurityException when one is wrong, or the two do not belong together
   * @throws IllegalArgumentException when the key breaks off
   */
  public static TlsIdentity read(Path certificate, Path key)
      throws IOException, GeneralSecurityException {
    List<X509Certificate> chain = certificates(certificate);
    PrivateKey secret =
        CertificateUtils.getPrivateKey(new ByteArrayInputStream(Files.readAllBytes(key)));
    if (!belong(chain.getFirst(), secret)) {
      throw new InvalidKeyException(
          "the key in %s is not that of the certificate in %s".formatted(key, certificate));
    }
    return new TlsIdentity(chain, secret);
  }

  /**
   * Reads certificates in PEM.
   *
   * @throws CertificateException when there is none, or one is wrong
   */
  public static List<X509Certificate> certificates(Path file)
      throws IOException, CertificateException {
    X509Certificate[] found =
        CertificateUtils.getX509Certificates(new ByteArrayInputStream(Files.readAllBytes(file)));
    if (found.length == 0) {
      throw new CertificateException(file + " has no certificate");
    }
    return List.of(found);
  }

  /** Whether what the key signs is what the certificate's holder has signed. */
  private static boolean belong(X509Certificate certificate, PrivateKey key)
      throws GeneralSecurityException {
    if (!certificate.getPublicKey().getAlgorithm().equals(key.getAlgorithm())) {
      return false;
    }
    Signature signature =
        Signature.getInstance(
            switch (key.getAlgorithm()) {
              case "RSA" -> "SHA256withRSA";
              case "EC" -> "SHA256withECDSA";
              default -> key.getAlgorithm();
            });
    signature.initSign(key);
    signature.update(SAMPLE);
    byte[] signed = signature.sign();
    signature.initVerify(certificate.getPublicKey());
    signature.update(SAMPLE);
    return signature.verify(signed);
  }
}
