package io.pipelane.config;

import java.net.URI;
import java.nio.file.Path;
import java.util.Optional;

/** The permissions of callers: who may ask what. */
public record SecurityConfig(
    @Key(
            about = "File of API keys, as digests, with roles, models and limits; read on change",
            unset = "everybody who can connect may do everything")
        Optional<Path> apiKeys,
    @Key(
            about =
                "Port where alone models are loaded, unloaded, uploaded and deleted, over HTTP; 0"
                    + " picks a free one",
            unset = "server.http-port and gRPC serve management too",
            min = "0",
            max = "65535")
        Optional<Integer> managementPort,
    @Key(
            about =
                "File of the keys that JSON Web Tokens are signed with: a JWK set, or a public key"
                    + " in PEM; read on change",
            unset = "tokens are not accepted")
        Optional<Path> jwtKeys,
    @Key(
            about =
                "Where those who issue tokens publish their keys, a JWK set over https; asked again"
                    + " each minute",
            unset = "keys are in a file, or tokens are not accepted")
        Optional<URI> jwtKeysUrl,
    @Key(about = "Who must have issued a token: its claim iss") Optional<Text> jwtIssuer,
    @Key(about = "Whom a token must be for: one of its claim aud") Optional<Text> jwtAudience,
    @Key(
            about = "Claim that lists a token's roles: infer, manage, observe; others are ignored",
            standard = "roles")
        Text jwtRolesClaim,
    @Key(
            about = "Claim that lists a token's models; a token without it is for all",
            standard = "models")
        Text jwtModelsClaim,
    @Key(
            about =
                "Claim that has limits of a token's holder, named as in the file of API keys; they"
                    + " take the place of the two below",
            standard = "limits")
        Text jwtLimitsClaim,
    @Key(
            about = "Requests a second of each holder of tokens; a second's may come at once",
            unset = "no limit",
            min = "1",
            max = "1000000")
        Optional<Integer> jwtRequestsPerSecond,
    @Key(
            about = "Requests under way at a time of each holder of tokens",
            unset = "no limit",
            min = "1",
            max = "1000000")
        Optional<Integer> jwtConcurrentRequests,
    @Key(
            about =
                "Whether POSIX shared memory of this machine may be registered, for tensors to lie in"
                    + " instead of being sent",
            standard = "false")
        boolean sharedMemory) {}
