package io.pipelane.server.access;

import io.pipelane.config.SecurityConfig;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Which JSON Web Tokens are accepted, and what they say.
 *
 * @param keys file of the keys that they are signed with
 * @param issuer their claim {@code iss}
 * @param audience one of their claim {@code aud}
 * @param rolesClaim lists roles
 * @param modelsClaim lists models
 */
public record TokenSettings(
    Path keys, String issuer, String audience, String rolesClaim, String modelsClaim) {

  /** As a configuration says, which has all that it takes, or nothing of it. */
  public static Optional<TokenSettings> of(SecurityConfig security) {
    return security
        .jwtKeys()
        .map(
            keys ->
                new TokenSettings(
                    keys,
                    security.jwtIssuer().orElseThrow().value(),
                    security.jwtAudience().orElseThrow().value(),
                    security.jwtRolesClaim().value(),
                    security.jwtModelsClaim().value()));
  }
}
