package io.pipelane.config.section;

import io.pipelane.config.value.Text;
import java.net.URI;
import java.nio.file.Path;
import java.util.Optional;

/** The permissions of callers: who may ask what. */
public record SecurityConfig(
    @Key(
            about =
                "File of API keys: their digests, with roles, models and limits. The server reads"
                    + " it again when it changes",
            unset =
                "everybody who can connect may do everything, unless tokens are set up by"
                    + " security.jwt-keys or security.jwt-keys-url")
        Optional<Path> apiKeys,
    @Key(
            about =
                "Port that alone serves management over HTTP: loading, unloading, uploading and"
                    + " deleting models; 0 picks a free one",
            unset = "server.http-port and gRPC serve management too",
            min = "0",
            max = "65535")
        Optional<Integer> managementPort,
    @Key(
            about =
                "File of the keys that JSON Web Tokens are signed with: a JWK set, or a public"
                    + " key in PEM. The server reads it again when it changes",
            unset = "tokens are not accepted, unless security.jwt-keys-url is set")
        Optional<Path> jwtKeys,
    @Key(
            about =
                "The https address (http only on this machine) where the issuer of tokens publishes"
                    + " its keys as a JWK set. The server asks it every minute",
            unset = "keys come from security.jwt-keys, or tokens are not accepted")
        Optional<URI> jwtKeysUrl,
    @Key(about = "Issuer that a token must name in its claim iss") Optional<Text> jwtIssuer,
    @Key(about = "Audience that a token must name in its claim aud, which may name several")
        Optional<Text> jwtAudience,
    @Key(
            about = "Claim that lists a token's roles: infer, manage, observe; others are ignored",
            standard = "roles")
        Text jwtRolesClaim,
    @Key(
            about =
                "Claim that lists the models that a token is for; a token without it is for all"
                    + " models",
            standard = "models")
        Text jwtModelsClaim,
    @Key(
            about =
                "Claim with the limits of a token's holder, named as in the file of API keys."
                    + " They replace security.jwt-requests-per-second and"
                    + " security.jwt-concurrent-requests",
            standard = "limits")
        Text jwtLimitsClaim,
    @Key(
            about =
                "Requests that each holder of tokens may make per second; the requests of one"
                    + " second may come all at once",
            unset = "no limit",
            min = "1",
            max = "1000000")
        Optional<Integer> jwtRequestsPerSecond,
    @Key(
            about = "Requests that each holder of tokens may have under way at a time",
            unset = "no limit",
            min = "1",
            max = "1000000")
        Optional<Integer> jwtConcurrentRequests,
    @Key(
            about =
                "Whether clients may register POSIX shared memory of this machine and leave"
                    + " tensors there instead of sending them",
            standard = "false")
        boolean sharedMemory) {}
