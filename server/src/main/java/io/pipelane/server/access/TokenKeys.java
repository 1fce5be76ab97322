package io.pipelane.server.access;

import com.nimbusds.jose.jwk.Curve;
import com.nimbusds.jose.jwk.ECKey;
import com.nimbusds.jose.jwk.JWK;
import com.nimbusds.jose.jwk.JWKSet;
import com.nimbusds.jose.jwk.KeyType;
import com.nimbusds.jose.jwk.KeyUse;
import com.nimbusds.jose.jwk.RSAKey;
import com.nimbusds.jose.util.JSONObjectUtils;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyFactory;
import java.security.NoSuchAlgorithmException;
import java.security.interfaces.ECPublicKey;
import java.security.interfaces.RSAPublicKey;
import java.security.spec.InvalidKeySpecException;
import java.security.spec.X509EncodedKeySpec;
import java.text.ParseException;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Stream;

/**
 * A reader of the keys that tokens are signed with: from a file of a JWK set (RFC 7517), from one
 * of a public key in PEM, or from a JWK set that is published. What it says of them never repeats
 * what stands there.
 */
final class TokenKeys {
  private static final int MAXIMUM_BYTES = 1 << 20;
  private static final int LEAST_SECRET_BITS = 256;
  private static final int LEAST_RSA_BITS = 2048;
  private static final Set<KeyType> SERVED = Set.of(KeyType.RSA, KeyType.EC, KeyType.OCT);

  private TokenKeys() {}

  /**
   * Reads the file.
   *
   * @throws StatusException {@link Status#INVALID_ARGUMENT} saying what is wrong with it
   */
  static JWKSet read(Path file) {
    try {
      if (Files.size(file) > MAXIMUM_BYTES) {
        throw refused(file, "has more than " + MAXIMUM_BYTES + " bytes");
      }
      String text = Files.readString(file, StandardCharsets.UTF_8).strip();
      JWKSet keys = text.startsWith("-----BEGIN") ? new JWKSet(pem(text)) : JWKSet.parse(text);
      check(file, keys);
      return keys;
    } catch (IOException | ParseException | InvalidKeySpecException | IllegalArgumentException e) {
      // A parser's message quotes the file.
      throw refused(
          file, "is neither a JWK set nor a public key in PEM: " + e.getClass().getSimpleName());
    }
  }

  /**
   * Reads what is published at an address. Keys of other kinds, for other uses, are left out, and
   * so are those that cannot be read (RFC 7517), and secrets: what everybody may read proves
   * nothing.
   *
   * @throws StatusException {@link Status#INVALID_ARGUMENT} when it has no key that is left
   */
  static JWKSet published(URI address, String text) {
    List<JWK> served = keys(address, text).filter(TokenKeys::isPublished).toList();
    if (served.isEmpty()) {
      throw new StatusException(
          Status.INVALID_ARGUMENT,
          "%s has no public key of RSA, of %d bits or more, or EC that verifies signatures"
              .formatted(address, LEAST_RSA_BITS));
    }
    return new JWKSet(served);
  }

  private static Stream<JWK> keys(URI address, String text) {
    try {
      Map<String, Object>[] keys =
          JSONObjectUtils.getJSONObjectArray(JSONObjectUtils.parse(text), "keys");
      if (keys != null) {
        return Arrays.stream(keys).filter(Objects::nonNull).flatMap(TokenKeys::readable);
      }
    } catch (ParseException e) {
      // A parser's message quotes the text.
    }
    throw new StatusException(Status.INVALID_ARGUMENT, address + " answers with no JWK set");
  }

  private static Stream<JWK> readable(Map<String, Object> key) {
    try {
      return Stream.of(JWK.parse(key));
    } catch (ParseException e) {
      return Stream.empty();
    }
  }

  private static boolean isPublished(JWK key) {
    boolean isRsa = key.getKeyType().equals(KeyType.RSA) && key.size() >= LEAST_RSA_BITS;
    return (isRsa || key.getKeyType().equals(KeyType.EC))
        && !KeyUse.ENCRYPTION.equals(key.getKeyUse());
  }

  private static void check(Path file, JWKSet keys) {
    if (keys.getKeys().isEmpty()) {
      throw refused(file, "has no keys");
    }
    int position = 0;
    for (JWK key : keys.getKeys()) {
      position++;
      int least =
          key.getKeyType().equals(KeyType.OCT)
              ? LEAST_SECRET_BITS
              : key.getKeyType().equals(KeyType.RSA) ? LEAST_RSA_BITS : 0;
      if (!SERVED.contains(key.getKeyType()) || key.size() < least) {
        throw refused(
            file,
            "has key %d, which is neither RSA of %d bits or more, nor EC, nor a secret of %d bits or more"
                .formatted(position, LEAST_RSA_BITS, LEAST_SECRET_BITS));
      }
    }
  }

  private static JWK pem(String text) throws InvalidKeySpecException {
    String body = text.replaceAll("-----(BEGIN|END) PUBLIC KEY-----", "").replaceAll("\\s", "");
    X509EncodedKeySpec encoded = new X509EncodedKeySpec(Base64.getDecoder().decode(body));
    try {
      try {
        return new RSAKey.Builder(
                (RSAPublicKey) KeyFactory.getInstance("RSA").generatePublic(encoded))
            .build();
      } catch (InvalidKeySpecException e) {
        ECPublicKey key = (ECPublicKey) KeyFactory.getInstance("EC").generatePublic(encoded);
        return new ECKey.Builder(Curve.forECParameterSpec(key.getParams()), key).build();
      }
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError("every JDK has RSA and EC", e);
    }
  }

  private static StatusException refused(Path file, String reason) {
    return new StatusException(
        Status.INVALID_ARGUMENT, "security.jwt-keys: the file " + file + " " + reason);
  }
}
