package io.pipelane.server.access;

import com.nimbusds.jose.JOSEException;
import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.JWSHeader;
import com.nimbusds.jose.crypto.factories.DefaultJWSSignerFactory;
import com.nimbusds.jose.jwk.Curve;
import com.nimbusds.jose.jwk.JWK;
import com.nimbusds.jose.jwk.JWKSet;
import com.nimbusds.jose.jwk.gen.ECKeyGenerator;
import com.nimbusds.jose.jwk.gen.OctetSequenceKeyGenerator;
import com.nimbusds.jose.jwk.gen.RSAKeyGenerator;
import com.nimbusds.jwt.JWTClaimsSet;
import com.nimbusds.jwt.SignedJWT;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Date;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.UnaryOperator;

/** Keys that sign tokens for tests, and tokens. */
public final class TestTokens {
  static final Instant NOW = Instant.parse("2026-01-02T03:04:05Z");
  static final String ISSUER = "https://login.example/";
  static final String AUDIENCE = "pipelane";

  static final JWK RSA = make(() -> new RSAKeyGenerator(2048).keyID("rsa").generate());
  static final JWK EC = make(() -> new ECKeyGenerator(Curve.P_256).keyID("ec").generate());
  static final JWK SECRET =
      make(() -> new OctetSequenceKeyGenerator(256).keyID("secret").generate());

  private TestTokens() {}

  private interface Maker {
    JWK make() throws JOSEException;
  }

  private static JWK make(Maker maker) {
    try {
      return maker.make();
    } catch (JOSEException e) {
      throw new AssertionError(e);
    }
  }

  static TokenSettings settings(Path file) {
    return settings(new TokenSettings.KeysInFile(file));
  }

  static TokenSettings settings(TokenSettings.KeySource keys) {
    return new TokenSettings(keys, ISSUER, AUDIENCE, "roles", "models", "limits", 0, 3);
  }

  /** What lets in the holders of tokens of all three keys. */
  public static AccessControl access(Path folder) throws IOException {
    return access(folder, new JWKSet(List.of(RSA.toPublicJWK(), EC.toPublicJWK(), SECRET)));
  }

  static AccessControl access(Path folder, JWKSet keys) throws IOException {
    Path file = Files.writeString(folder.resolve("jwks.json"), keys.toString(false));
    return access(Optional.empty(), file);
  }

  static AccessControl access(Optional<Path> keyFile, Path file) {
    return AccessControl.of(
        keyFile, Optional.of(settings(file)), OptionalInt.empty(), InstantSource.fixed(NOW));
  }

  static AccessControl access(URI address) {
    return AccessControl.of(
        Optional.empty(),
        Optional.of(settings(new TokenSettings.KeysAtAddress(address))),
        OptionalInt.empty(),
        InstantSource.fixed(NOW));
  }

  /** A token for roles, signed with RS256. */
  public static String of(String... roles) {
    return signed(RSA, JWSAlgorithm.RS256, claims -> claims.claim("roles", List.of(roles)));
  }

  static String signed(JWK key, JWSAlgorithm algorithm, UnaryOperator<JWTClaimsSet.Builder> more) {
    JWTClaimsSet.Builder claims =
        new JWTClaimsSet.Builder()
            .issuer(ISSUER)
            .audience(List.of("other", AUDIENCE))
            .subject("alice")
            .expirationTime(Date.from(NOW.plusSeconds(600)));
    SignedJWT token =
        new SignedJWT(
            new JWSHeader.Builder(algorithm).keyID(key.getKeyID()).build(),
            more.apply(claims).build());
    try {
      token.sign(new DefaultJWSSignerFactory().createJWSSigner(key, algorithm));
    } catch (JOSEException e) {
      throw new AssertionError(e);
    }
    return token.serialize();
  }
}
