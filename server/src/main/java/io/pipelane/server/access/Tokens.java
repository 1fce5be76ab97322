package io.pipelane.server.access;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import com.nimbusds.jose.JOSEException;
import com.nimbusds.jose.JOSEObjectType;
import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.jwk.Curve;
import com.nimbusds.jose.jwk.ECKey;
import com.nimbusds.jose.jwk.JWK;
import com.nimbusds.jose.jwk.JWKSelector;
import com.nimbusds.jose.jwk.JWKSet;
import com.nimbusds.jose.jwk.KeyType;
import com.nimbusds.jose.proc.BadJOSEException;
import com.nimbusds.jose.proc.DefaultJOSEObjectTypeVerifier;
import com.nimbusds.jose.proc.JWSVerificationKeySelector;
import com.nimbusds.jose.proc.SecurityContext;
import com.nimbusds.jwt.JWTClaimNames;
import com.nimbusds.jwt.JWTClaimsSet;
import com.nimbusds.jwt.SignedJWT;
import com.nimbusds.jwt.proc.BadJWTException;
import com.nimbusds.jwt.proc.DefaultJWTClaimsVerifier;
import com.nimbusds.jwt.proc.DefaultJWTProcessor;
import com.nimbusds.jwt.proc.ExpiredJWTException;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.text.ParseException;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Date;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The judge of who holds a JSON Web Token (RFC 7519), by the keys of one file. Safe for any thread.
 */
final class Tokens {
  /*
   * A key answers for algorithms of its own kind alone: a public key is never taken for a secret,
   * whatever a token's header says, and what is not signed is refused. Verifying takes up to a few
   * hundred microseconds, on an event loop; so whom a token has turned out to be is remembered by
   * its digest, until it expires or the keys change.
   */
  private static final Set<JWSAlgorithm> ALGORITHMS =
      Set.of(JWSAlgorithm.RS256, JWSAlgorithm.ES256, JWSAlgorithm.HS256);
  private static final int MAXIMUM_LENGTH = 16 << 10;

  /** By how much the issuer's clock may differ. */
  private static final int CLOCK_SKEW_SECONDS = 5;

  /** Later than the year 9999. */
  private static final double LATEST_SECONDS = 3e11;

  private static final int REMEMBERED = 10_000;
  private static final ObjectMapper JSON = new ObjectMapper();

  private final TokenSettings settings;
  private final JWKSet keys;
  private final TokenAllowances allowances;
  private final InstantSource clock;
  private final DefaultJWTProcessor<SecurityContext> processor = new DefaultJWTProcessor<>();
  private final Cache<String, Holder> known =
      Caffeine.newBuilder().maximumSize(REMEMBERED).executor(Runnable::run).build();

  private record Holder(Caller caller, Instant until) {}

  /**
   * Accepts tokens that one of some keys has signed.
   *
   * @param allowances what their holders have used up so far
   * @param clock that tokens expire by
   */
  Tokens(TokenSettings settings, JWKSet keys, TokenAllowances allowances, InstantSource clock) {
    this.settings = settings;
    this.keys = keys;
    this.allowances = allowances;
    this.clock = clock;
    processor.setJWSTypeVerifier(
        new DefaultJOSEObjectTypeVerifier<>(
            JOSEObjectType.JWT, new JOSEObjectType("at+jwt"), null));
    processor.setJWSKeySelector(
        new JWSVerificationKeySelector<>(ALGORITHMS, (selector, _) -> candidates(selector, keys)));
    processor.setJWTClaimsSetVerifier(claimsVerifier());
  }

  /**
   * The keys that a token may be signed with; one without an id may be any token's of its kind. A
   * key of another curve than ES256's verifies nothing, and would end the search for one that does.
   */
  private static List<JWK> candidates(JWKSelector selector, JWKSet keys) {
    Set<KeyType> kinds = selector.getMatcher().getKeyTypes();
    return Stream.concat(
            selector.select(keys).stream(),
            keys.getKeys().stream()
                .filter(key -> key.getKeyID() == null && kinds.contains(key.getKeyType())))
        .filter(key -> !(key instanceof ECKey curved) || curved.getCurve().equals(Curve.P_256))
        .distinct()
        .toList();
  }

  private DefaultJWTClaimsVerifier<SecurityContext> claimsVerifier() {
    DefaultJWTClaimsVerifier<SecurityContext> verifier =
        new DefaultJWTClaimsVerifier<>(
            settings.audience(),
            new JWTClaimsSet.Builder().issuer(settings.issuer()).build(),
            Set.of(JWTClaimNames.EXPIRATION_TIME)) {
          @Override
          protected Date currentTime() {
            return Date.from(clock.instant());
          }
        };
    verifier.setMaxClockSkew(CLOCK_SKEW_SECONDS);
    return verifier;
  }

  /** Whether a credential has a token's form: three parts between dots. */
  static boolean isToken(String credential) {
    int first = credential.indexOf('.');
    int last = credential.lastIndexOf('.');
    return first > 0 && last > first && credential.indexOf('.', first + 1) == last;
  }

  /**
   * Who holds a token.
   *
   * @throws StatusException {@link Status#UNAUTHENTICATED} when it is not accepted
   */
  Caller find(String token) {
    if (token.length() > MAXIMUM_LENGTH) {
      throw refused("is longer than " + MAXIMUM_LENGTH + " characters");
    }
    String digest = KeyText.digest(token);
    Holder holder = known.getIfPresent(digest);
    if (holder == null || !clock.instant().isBefore(holder.until)) {
      JWTClaimsSet claims = verify(token);
      holder = new Holder(caller(claims, digest), claims.getExpirationTime().toInstant());
      known.put(digest, holder);
    }
    return holder.caller;
  }

  /** Whether a token names a key that is not among these; its issuer may have a new one. */
  boolean lacksKeyOf(String token) {
    try {
      String id =
          token.length() > MAXIMUM_LENGTH ? null : SignedJWT.parse(token).getHeader().getKeyID();
      return id != null && keys.getKeyByKeyId(id) == null;
    } catch (ParseException e) {
      return false;
    }
  }

  private JWTClaimsSet verify(String token) {
    try {
      return processor.process(token, null);
    } catch (ParseException e) {
      throw refused("cannot be read");
    } catch (ExpiredJWTException e) {
      throw refused(
          isTime(token) ? "has expired" : "is refused for its claim exp, which is no time");
    } catch (BadJWTException e) {
      throw refused("is refused for its claim " + wrongClaim(token));
    } catch (BadJOSEException | JOSEException e) {
      throw refused("is not signed by a key that is known, with RS256, ES256 or HS256");
    }
  }

  /** Whether a token's claim exp is one of this calendar; what is greater is not kept whole. */
  private static boolean isTime(String token) {
    try {
      Map<String, Object> claims = SignedJWT.parse(token).getPayload().toJSONObject();
      return claims.get(JWTClaimNames.EXPIRATION_TIME) instanceof Number seconds
          && Math.abs(seconds.doubleValue()) < LATEST_SECONDS;
    } catch (ParseException e) {
      return false;
    }
  }

  /** Which claim of a signed token does not hold, in the order of what it says of the issuer. */
  private String wrongClaim(String token) {
    JWTClaimsSet claims;
    try {
      claims = SignedJWT.parse(token).getJWTClaimsSet();
    } catch (ParseException e) {
      return "set, which cannot be read";
    }
    if (!settings.issuer().equals(claims.getIssuer())) {
      return "iss, which is not the issuer's";
    }
    if (!claims.getAudience().contains(settings.audience())) {
      return "aud, which does not name this server";
    }
    return claims.getExpirationTime() == null
        ? "exp, which it lacks"
        : "nbf, which lies in the future";
  }

  private Caller caller(JWTClaimsSet claims, String digest) {
    Set<Role> roles = EnumSet.noneOf(Role.class);
    List<String> written = listed(claims, settings.rolesClaim());
    if (written != null) {
      Stream.of(Role.values()).filter(role -> written.contains(role.text())).forEach(roles::add);
    }
    List<String> models = listed(claims, settings.modelsClaim());
    TokenHolder holder = TokenHolder.of(claims, digest);
    WrittenLimits limits = limits(claims);
    return new Caller(
        holder.name(),
        holder.owner(),
        roles,
        models == null ? List.of("*") : models,
        allowances.of(holder, limits.over(settings.limits())),
        limits.isOffline());
  }

  /** What is misspelt would not limit anything, and so is refused. */
  private WrittenLimits limits(JWTClaimsSet claims) {
    String name = settings.limitsClaim();
    if (!claims.getClaims().containsKey(name)) {
      return new WrittenLimits(JSON.createObjectNode(), Tokens::refused);
    }
    if (!(claims.getClaim(name) instanceof Map<?, ?> members)
        || !WrittenLimits.MEMBERS.containsAll(members.keySet())) {
      throw refused(
          "has the claim \"%s\", which is no object of %s"
              .formatted(name, WrittenLimits.MEMBERS.stream().sorted().toList()));
    }
    return new WrittenLimits(
        JSON.valueToTree(members),
        reason -> refused("has the claim \"" + name + "\", whose " + reason));
  }

  /** A claim that is a list of texts, or a text of words; null where the token has none. */
  private static @Nullable List<String> listed(JWTClaimsSet claims, String name) {
    return switch (claims.getClaim(name)) {
      case null -> {
        if (claims.getClaims().containsKey(name)) {
          throw refused("has the claim \"" + name + "\", which is null and no list");
        }
        yield null;
      }
      case String words -> List.of(words.strip().split("\\s+"));
      case List<?> list -> list.stream().map(String::valueOf).toList();
      default -> throw refused("has the claim \"" + name + "\", which is no list");
    };
  }

  private static StatusException refused(String reason) {
    return new StatusException(Status.UNAUTHENTICATED, "the token " + reason);
  }
}
