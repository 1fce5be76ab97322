package io.pipelane.server.cli;

import io.pipelane.config.QuotedUrl;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;
import picocli.CommandLine.ScopeType;

/**
 * The options that name a running server, and say how it is asked. A command passes them on to its
 * subcommands, so that they may stand in front of those or behind them.
 */
final class ServerAddress {
  private static final int MAXIMUM_PORT = 65_535;

  @Option(
      names = "--url",
      scope = ScopeType.INHERIT,
      paramLabel = "URL",
      description = "Address of the server (default: ${DEFAULT-VALUE}).",
      defaultValue = "http://127.0.0.1:8000")
  private String url = "http://127.0.0.1:8000";

  @Option(
      names = "--api-key-file",
      scope = ScopeType.INHERIT,
      paramLabel = "FILE",
      description = "File with the API key to send along.")
  private @Nullable Path keyFile;

  @Option(
      names = "--ca",
      scope = ScopeType.INHERIT,
      paramLabel = "FILE",
      description = "Certificates, in PEM, of the authorities to trust instead of the JDK's.")
  private @Nullable Path authorities;

  @Option(
      names = "--cert",
      scope = ScopeType.INHERIT,
      paramLabel = "FILE",
      description = "The client's own certificate, in PEM, for servers that ask for one.")
  private @Nullable Path certificate;

  @Option(
      names = "--key",
      scope = ScopeType.INHERIT,
      paramLabel = "FILE",
      description = "The key of --cert, in PEM (PKCS #8, not encrypted).")
  private @Nullable Path certificateKey;

  ServerClient connect() {
    boolean asJdk = authorities == null && certificate == null && certificateKey == null;
    return new ServerClient(
        server(url),
        asJdk ? null : ClientTls.of(authorities, certificate, certificateKey),
        keyFile == null ? null : key(keyFile));
  }

  private static URI server(String url) {
    try {
      URI server = new URI(url);
      if (server.getRawUserInfo() != null) {
        throw new StatusException(
            Status.INVALID_ARGUMENT,
            "--url is to have no user:password@; name a file with the API key by --api-key-file");
      }
      if (server.getHost() != null
          && url.matches("https?://.*")
          && server.getPort() <= MAXIMUM_PORT) {
        return server;
      }
    } catch (URISyntaxException e) {
      // said below
    }
    throw new StatusException(
        Status.INVALID_ARGUMENT,
        "\""
            + QuotedUrl.of(url)
            + "\" is no address of a server; write it like http://127.0.0.1:8000");
  }

  /** What is no key never gets into a request, whose complaint would quote it. */
  private static String key(Path file) {
    try {
      String key = Files.readString(file).strip();
      if (key.matches("[\\x20-\\x7e]+")) {
        return key;
      }
      throw new StatusException(
          Status.INVALID_ARGUMENT,
          "--api-key-file: %s is to hold one API key and nothing else, in a line of ASCII"
              .formatted(file));
    } catch (IOException e) {
      throw new StatusException(
          Status.INVALID_ARGUMENT, "--api-key-file: " + file + " cannot be read: " + e, e);
    }
  }
}
