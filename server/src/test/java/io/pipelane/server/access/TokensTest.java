package io.pipelane.server.access;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.jwk.Curve;
import com.nimbusds.jose.jwk.JWK;
import com.nimbusds.jose.jwk.JWKSet;
import com.nimbusds.jose.jwk.OctetSequenceKey;
import com.nimbusds.jose.jwk.gen.ECKeyGenerator;
import com.nimbusds.jwt.JWTClaimsSet;
import com.nimbusds.jwt.PlainJWT;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.Base64;
import java.util.Collections;
import java.util.Date;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class TokensTest {
  @TempDir private Path folder = Path.of("");

  private static String rsa(UnaryOperator<JWTClaimsSet.Builder> more) {
    return TestTokens.signed(TestTokens.RSA, JWSAlgorithm.RS256, more);
  }

  private static StatusException refused(AccessControl access, String token) {
    StatusException error =
        assertThrows(StatusException.class, () -> access.identify("Bearer " + token, null));
    assertEquals(Status.UNAUTHENTICATED, error.status());
    assertFalse(String.valueOf(error.getMessage()).contains(token), error::getMessage);
    return error;
  }

  static Stream<Arguments> algorithms() {
    return Stream.of(
        Arguments.of(TestTokens.RSA, JWSAlgorithm.RS256),
        Arguments.of(TestTokens.EC, JWSAlgorithm.ES256),
        Arguments.of(TestTokens.SECRET, JWSAlgorithm.HS256));
  }

  @ParameterizedTest
  @MethodSource("algorithms")
  void token_ofEachAlgorithm_isAccepted(JWK key, JWSAlgorithm algorithm) throws IOException {
    String token = TestTokens.signed(key, algorithm, c -> c.claim("roles", "infer other"));
    try (AccessControl access = TestTokens.access(folder)) {
      Caller caller = access.identify("Bearer " + token, null);
      caller.check(Demand.of(Role.INFER, Demand.ALL_MODELS));
      StatusException error =
          assertThrows(StatusException.class, () -> caller.check(Demand.of(Role.MANAGE, "")));
      assertEquals("token of \"alice\" lets infer; this needs manage", error.getMessage());
      assertSame(caller, access.identify(null, token), "it is remembered");
    }
  }

  @Test
  void token_withoutRoles_mayDoNothing() throws IOException {
    try (AccessControl access = TestTokens.access(folder)) {
      Caller caller = access.identify("Bearer " + rsa(c -> c.claim("roles", List.of("x"))), null);
      for (Role role : Role.values()) {
        assertThrows(StatusException.class, () -> caller.check(Demand.of(role, "")));
      }
    }
  }

  @Test
  void token_withModels_isForThose() throws IOException {
    try (AccessControl access = TestTokens.access(folder)) {
      String token =
          rsa(c -> c.claim("roles", List.of("infer")).claim("models", List.of("pair", "cu*")));
      Caller caller = access.identify("Bearer " + token, null);
      assertTrue(caller.sees("pair") && caller.sees("cube"));
      assertFalse(caller.sees("echo"));
    }
  }

  /** As issuers write what a holder lacks: it is no list of models, nor none at all. */
  @Test
  void token_whoseModelsAreNull_isRefused() throws IOException {
    try (AccessControl access = TestTokens.access(folder)) {
      String token =
          rsa(
              c ->
                  c.claim("roles", List.of("infer"))
                      .claim("models", null)
                      .serializeNullClaims(true));
      StatusException refused =
          assertThrows(StatusException.class, () -> access.identify("Bearer " + token, null));
      assertEquals(Status.UNAUTHENTICATED, refused.status());
    }
  }

  @Test
  void keysOfOtherCurvesBeforeIt_doNotKeepATokenOut() throws Exception {
    JWK larger = new ECKeyGenerator(Curve.P_384).generate();
    JWK right = new ECKeyGenerator(Curve.P_256).generate();
    String token = TestTokens.signed(right, JWSAlgorithm.ES256, c -> c.claim("roles", "infer"));
    JWKSet keys = new JWKSet(List.of(larger.toPublicJWK(), right.toPublicJWK()));
    try (AccessControl access = TestTokens.access(folder, keys)) {
      access.identify("Bearer " + token, null).check(Demand.of(Role.INFER, ""));
    }
  }

  @Test
  void tokens_areTheirHoldersAcrossTokens_andTheirOwnWithoutOne() throws IOException {
    try (AccessControl access = TestTokens.access(folder)) {
      List<Caller> callers =
          Stream.of(
                  rsa(c -> c),
                  rsa(c -> c.subject("bob")),
                  rsa(c -> c.subject(null).claim("client_id", "alice")),
                  rsa(c -> c.subject(null).claim("azp", "alice")),
                  rsa(c -> c.subject(null).jwtID("alice")),
                  rsa(c -> c.subject(null)),
                  rsa(c -> c.subject("").claim("more", 1)))
              .map(token -> access.identify("Bearer " + token, null))
              .toList();
      assertEquals(callers.size(), callers.stream().map(Keys::sequenceOwner).distinct().count());
      for (Caller caller : callers) {
        StatusException error =
            assertThrows(StatusException.class, () -> caller.check(Demand.of(Role.MANAGE, "")));
        String message = String.valueOf(error.getMessage());
        assertTrue(message.matches("(token of \"(alice|bob)\"|the token \\w{8}) lets .*"), message);
      }
      Caller again = access.identify("Bearer " + rsa(c -> c.claim("more", 1)), null);
      assertEquals(Keys.sequenceOwner(callers.getFirst()), Keys.sequenceOwner(again));
    }
  }

  @Test
  void limits_areAHoldersOverAllItsTokens_alsoWhenKeysChange() throws IOException {
    UnaryOperator<JWTClaimsSet.Builder> limited =
        c ->
            c.claim("roles", "infer")
                .claim("limits", Map.of("requests-per-second", 1e-3, "burst", 2));
    try (AccessControl access = TestTokens.access(folder)) {
      Caller first = access.identify("Bearer " + rsa(limited), null);
      first.begin();
      Path file = folder.resolve("jwks.json");
      Files.writeString(
          file,
          new JWKSet(List.of(TestTokens.RSA.toPublicJWK(), TestTokens.EC.toPublicJWK()))
              .toString());
      Files.setLastModifiedTime(file, FileTime.fromMillis(1));
      access.look();
      String other = rsa(c -> limited.apply(c).claim("more", 1));
      Caller second = access.identify("Bearer " + other, null);
      second.begin();
      StatusException error = assertThrows(StatusException.class, first::begin);
      assertEquals(Status.RATE_LIMITED, error.status());
      assertEquals(
          "token of \"alice\" may ask 0.001 times a second; this is more", error.getMessage());
      access.identify("Bearer " + rsa(c -> limited.apply(c).subject("bob")), null).begin();
    }
  }

  @Test
  void limits_thatAreConfigured_holdForTokensThatSayNothing() throws IOException {
    try (AccessControl access = TestTokens.access(folder)) {
      Caller caller = access.identify("Bearer " + rsa(c -> c), null);
      for (int i = 0; i < 3; i++) {
        caller.begin();
      }
      assertThrows(StatusException.class, caller::begin);
      caller.end();
      caller.begin();
      Map<String, Object> more = Map.of("concurrent-requests", 4, "priority", "offline");
      Caller other = access.identify("Bearer " + rsa(c -> c.claim("limits", more)), null);
      for (int i = 0; i < 4; i++) {
        other.begin();
      }
      assertThrows(StatusException.class, other::begin);
      assertThrows(StatusException.class, () -> other.check(Priority.ONLINE));
    }
  }

  static Stream<String> badTokens() {
    return Stream.of(
        rsa(c -> c.issuer("https://other.example/")),
        rsa(c -> c.issuer(null)),
        rsa(c -> c.audience("other")),
        rsa(c -> c.audience((String) null)),
        rsa(c -> c.expirationTime(null)),
        rsa(c -> c.expirationTime(Date.from(TestTokens.NOW.minusSeconds(120)))),
        rsa(c -> c.notBeforeTime(Date.from(TestTokens.NOW.plusSeconds(120)))),
        rsa(c -> c.claim("roles", 7)),
        rsa(c -> c.claim("limits", 7)),
        rsa(c -> c.claim("limits", null).serializeNullClaims(true)),
        rsa(c -> c.claim("limits", Collections.singletonMap("requests-per-second", null))),
        rsa(c -> c.claim("limits", Collections.singletonMap("priority", null))),
        rsa(c -> c.claim("limits", Map.of("request-per-second", 7))),
        rsa(c -> c.claim("limits", Map.of("requests-per-second", 0))),
        rsa(c -> c.claim("limits", Map.of("concurrent-requests", "many"))),
        rsa(c -> c.claim("limits", Map.of("concurrent-requests", 0.5))),
        rsa(c -> c.claim("limits", Map.of("priority", "high"))),
        rsa(c -> c) + "x",
        withOtherClaims(rsa(c -> c.claim("roles", "infer"))),
        TestTokens.signed(TestTokens.RSA, JWSAlgorithm.RS512, c -> c),
        signedWithThePublicKeyAsSecret(),
        new PlainJWT(new JWTClaimsSet.Builder().issuer(TestTokens.ISSUER).build()).serialize()
            + "x",
        "a.b.c",
        "x".repeat(20_000) + ".y.z");
  }

  private static String withOtherClaims(String token) {
    String[] parts = token.split("\\.", -1);
    String claims = new String(Base64.getUrlDecoder().decode(parts[1]), StandardCharsets.UTF_8);
    String more = claims.replace("infer", "manage");
    assertFalse(more.equals(claims));
    return parts[0]
        + "."
        + Base64.getUrlEncoder()
            .withoutPadding()
            .encodeToString(more.getBytes(StandardCharsets.UTF_8))
        + "."
        + parts[2];
  }

  /** The classic confusion: the public key's own text, taken for a shared secret. */
  private static String signedWithThePublicKeyAsSecret() {
    byte[] text = TestTokens.RSA.toPublicJWK().toJSONString().getBytes(StandardCharsets.UTF_8);
    JWK secret = new OctetSequenceKey.Builder(text).keyID("rsa").build();
    return TestTokens.signed(secret, JWSAlgorithm.HS256, c -> c);
  }

  static Stream<Arguments> badClaims() {
    return Stream.of(
        Arguments.of("iss", rsa(c -> c.issuer("https://other.example/"))),
        Arguments.of("aud", rsa(c -> c.audience("other"))),
        Arguments.of("exp", rsa(c -> c.expirationTime(null))),
        Arguments.of(
            "exp, which is no time",
            rsa(c -> c.claim("exp", new BigInteger("1" + "0".repeat(30))))),
        Arguments.of("nbf", rsa(c -> c.notBeforeTime(Date.from(TestTokens.NOW.plusSeconds(6))))));
  }

  @ParameterizedTest
  @MethodSource("badClaims")
  void token_whoseClaimIsWrong_isToldWhich(String claim, String token) throws IOException {
    try (AccessControl access = TestTokens.access(folder)) {
      StatusException error =
          assertThrows(StatusException.class, () -> access.identify("Bearer " + token, null));
      String message = String.valueOf(error.getMessage());
      assertTrue(message.contains("is refused for its claim " + claim), message);
    }
  }

  /** Clocks differ by seconds. */
  @Test
  void token_thatHasJustExpired_isAcceptedFor5Seconds() throws IOException {
    try (AccessControl access = TestTokens.access(folder)) {
      String just = rsa(c -> c.expirationTime(Date.from(TestTokens.NOW.minusSeconds(4))));
      assertFalse(access.identify("Bearer " + just, null).equals(Caller.ANYBODY));
      refused(access, rsa(c -> c.expirationTime(Date.from(TestTokens.NOW.minusSeconds(6)))));
    }
  }

  @ParameterizedTest
  @MethodSource("badTokens")
  void token_thatIsWrong_isRefused(String token) throws IOException {
    try (AccessControl access = TestTokens.access(folder)) {
      refused(access, token);
    }
  }

  @Test
  void keysAndTokens_areAcceptedBesideEachOther() throws IOException {
    Path keys = Files.writeString(folder.resolve("keys.yaml"), "keys:\n" + Keys.usual());
    Path jwks =
        Files.writeString(
            folder.resolve("jwks.json"), new JWKSet(TestTokens.RSA.toPublicJWK()).toString());
    try (AccessControl access = TestTokens.access(Optional.of(keys), jwks)) {
      access.identify(null, "infer").check(Demand.of(Role.INFER, "any"));
      access.identify(null, TestTokens.of("infer")).check(Demand.of(Role.INFER, "any"));
      refused(access, "nobody");
    }
  }

  @Test
  void keys_areReadAgainWhenTheyChange() throws IOException {
    try (AccessControl access = TestTokens.access(folder)) {
      String token = TestTokens.of("infer");
      access.identify("Bearer " + token, null);
      Path file = folder.resolve("jwks.json");
      Files.writeString(file, "{ not JSON");
      Files.setLastModifiedTime(file, FileTime.fromMillis(1));
      StatusException error = assertThrows(StatusException.class, access::look);
      assertFalse(String.valueOf(error.getMessage()).contains("not JSON"), error::getMessage);
      assertDoesNotThrow(() -> access.identify("Bearer " + token, null));
      Files.writeString(file, new JWKSet(TestTokens.EC.toPublicJWK()).toString());
      Files.setLastModifiedTime(file, FileTime.fromMillis(2));
      access.look();
      refused(access, token);
    }
  }

  @Test
  void publicKeyInPem_isAKeyFile() throws Exception {
    for (JWK key : List.of(TestTokens.RSA, TestTokens.EC)) {
      byte[] encoded =
          key.equals(TestTokens.RSA)
              ? key.toRSAKey().toPublicKey().getEncoded()
              : key.toECKey().toPublicKey().getEncoded();
      Path file =
          Files.writeString(
              folder.resolve("key.pem"),
              "-----BEGIN PUBLIC KEY-----\n"
                  + Base64.getMimeEncoder().encodeToString(encoded)
                  + "\n-----END PUBLIC KEY-----\n");
      JWSAlgorithm algorithm = key.equals(TestTokens.RSA) ? JWSAlgorithm.RS256 : JWSAlgorithm.ES256;
      try (AccessControl access = TestTokens.access(Optional.empty(), file)) {
        access.identify("Bearer " + TestTokens.signed(key, algorithm, c -> c), null);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{\"keys\":[]}",
        "{\"keys\":[{\"kty\":\"oct\",\"k\":\"c2hvcnQ\"}]}",
        "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----",
        "secret-words"
      })
  void keyFile_thatCannotBeUsed_isNamedAndNotQuoted(String text) throws IOException {
    Path file = Files.writeString(folder.resolve("jwks.json"), text);
    StatusException error =
        assertThrows(StatusException.class, () -> TestTokens.access(Optional.empty(), file));
    String message = String.valueOf(error.getMessage());
    assertTrue(message.startsWith("security.jwt-keys: the file " + file), message);
    assertFalse(message.contains("secret-words") || message.contains("c2hvcnQ"), message);
  }
}
