package io.pipelane.server.access;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.jwk.JWK;
import com.nimbusds.jose.jwk.JWKSet;
import com.sun.net.httpserver.HttpServer;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tokens whose keys are published at an address. */
class PublishedKeysTest {
  private static final String TOKEN = TestTokens.of("infer");

  private HttpServer issuer;
  private volatile int status = 200;
  private volatile String text = "";

  PublishedKeysTest() throws IOException {
    issuer = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
  }

  @BeforeEach
  void publish() {
    issuer.createContext(
        "/keys",
        exchange -> {
          byte[] body = text.getBytes(StandardCharsets.UTF_8);
          exchange.sendResponseHeaders(status, body.length);
          exchange.getResponseBody().write(body);
          exchange.close();
        });
    issuer.start();
    text = set(TestTokens.RSA.toPublicJWK());
  }

  @AfterEach
  void stop() {
    issuer.stop(0);
  }

  private URI address() {
    return URI.create("http://127.0.0.1:" + issuer.getAddress().getPort() + "/keys");
  }

  private static String set(JWK... keys) {
    return new JWKSet(List.of(keys)).toString(false);
  }

  private static Status refusal(AccessControl access, String token) {
    return assertThrows(StatusException.class, () -> access.identify("Bearer " + token, null))
        .status();
  }

  @Test
  void keys_areFetched_andThoseOfOtherKindsLeftOut() {
    text = set(TestTokens.SECRET, TestTokens.RSA.toPublicJWK());
    try (AccessControl access = TestTokens.access(address())) {
      access.identify("Bearer " + TOKEN, null).check(Demand.of(Role.INFER, ""));
      String forged = TestTokens.signed(TestTokens.SECRET, JWSAlgorithm.HS256, claims -> claims);
      assertEquals(Status.UNAUTHENTICATED, refusal(access, forged));
    }
  }

  @Test
  void keys_thatCannotBeRead_areLeftOut() {
    String strange = "{\"kty\":\"EC\",\"crv\":\"of-tomorrow\",\"x\":\"AA\",\"y\":\"AA\"}";
    text = "{\"keys\":[" + strange + "," + TestTokens.RSA.toPublicJWK().toJSONString() + "]}";
    try (AccessControl access = TestTokens.access(address())) {
      access.identify("Bearer " + TOKEN, null).check(Demand.of(Role.INFER, ""));
    }
  }

  @Test
  void keys_thatChange_replaceEarlierOnes() {
    String another = TestTokens.signed(TestTokens.EC, JWSAlgorithm.ES256, claims -> claims);
    try (AccessControl access = TestTokens.access(address())) {
      text = set(TestTokens.EC.toPublicJWK());
      access.look();
      access.identify("Bearer " + another, null);
      assertEquals(Status.UNAUTHENTICATED, refusal(access, TOKEN));
    }
  }

  /** Long before the address is asked again by itself. */
  @Test
  @Timeout(30)
  void tokenOfAKeyThatIsNew_hasTheKeysAskedFor() {
    String another = TestTokens.signed(TestTokens.EC, JWSAlgorithm.ES256, claims -> claims);
    try (AccessControl access = TestTokens.access(address())) {
      text = set(TestTokens.RSA.toPublicJWK(), TestTokens.EC.toPublicJWK());
      assertEquals(Status.UNAUTHENTICATED, refusal(access, another));
      while (!isAccepted(access, another)) {
        Thread.onSpinWait();
      }
    }
  }

  private static boolean isAccepted(AccessControl access, String token) {
    try {
      access.identify("Bearer " + token, null);
      return true;
    } catch (StatusException e) {
      assertEquals(Status.UNAUTHENTICATED, e.status());
      return false;
    }
  }

  @Test
  void issuerThatFails_changesNothing() {
    try (AccessControl access = TestTokens.access(address())) {
      for (String wrong :
          List.of("{", "{\"keys\":[]}", set(TestTokens.SECRET), "x".repeat(1 << 21))) {
        text = wrong;
        StatusException error = assertThrows(StatusException.class, access::look, wrong);
        assertTrue(String.valueOf(error.getMessage()).contains("/keys"), error::getMessage);
      }
      status = 500;
      assertThrows(StatusException.class, access::look);
      issuer.stop(0);
      assertThrows(StatusException.class, access::look);
      access.identify("Bearer " + TOKEN, null);
    }
  }

  @Test
  void issuerThatFailsAtTheStart_keepsTokensOutUntilItAnswers() {
    status = 503;
    try (AccessControl access = TestTokens.access(address())) {
      assertEquals(Status.UNAVAILABLE, refusal(access, TOKEN));
      status = 200;
      access.look();
      access.identify("Bearer " + TOKEN, null);
    }
  }
}
