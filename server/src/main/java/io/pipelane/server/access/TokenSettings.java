package io.pipelane.server.access;

import io.pipelane.config.section.SecurityConfig;
import java.net.URI;
import java.nio.file.Path;
import java.util.Optional;

/**
 * The settings that say which JSON Web Tokens are accepted, and what they say.
 *
 * @param keys where the keys are that they are signed with
 * @param issuer their claim {@code iss}
 * @param audience one of their claim {@code aud}
 * @param rolesClaim lists roles
 * @param modelsClaim lists models
 * @param limitsClaim has limits of one token's holder, in place of those below
 * @param requestsPerSecond of each holder; 0 for no limit
 * @param concurrentRequests of each holder; 0 for no limit
 */
public record TokenSettings(
    KeySource keys,
    String issuer,
    String audience,
    String rolesClaim,
    String modelsClaim,
    String limitsClaim,
    int requestsPerSecond,
    int concurrentRequests) {

  /** The source of keys. */
  public sealed interface KeySource {}

  /** A file of a JWK set, or of one public key in PEM. */
  public record KeysInFile(Path file) implements KeySource {}

  /** A JWK set that those who issue tokens publish. */
  public record KeysAtAddress(URI address) implements KeySource {}

  /** As a configuration says, which has all that it takes, or nothing of it. */
  public static Optional<TokenSettings> of(SecurityConfig security) {
    Optional<KeySource> file = security.jwtKeys().map(KeysInFile::new);
    Optional<KeySource> address = security.jwtKeysUrl().map(KeysAtAddress::new);
    return file.or(() -> address)
        .map(
            keys ->
                new TokenSettings(
                    keys,
                    security.jwtIssuer().orElseThrow().value(),
                    security.jwtAudience().orElseThrow().value(),
                    security.jwtRolesClaim().value(),
                    security.jwtModelsClaim().value(),
                    security.jwtLimitsClaim().value(),
                    security.jwtRequestsPerSecond().orElse(0),
                    security.jwtConcurrentRequests().orElse(0)));
  }

  /** Of a holder whose token says nothing else. */
  Allowance.Limits limits() {
    return Allowance.Limits.evenly(requestsPerSecond, concurrentRequests);
  }
}
