package io.pipelane.server.cli;

import java.net.URI;
import picocli.CommandLine.Option;

/** The option that names a running server. */
final class ServerAddress {
  @Option(
      names = "--url",
      paramLabel = "URL",
      description = "Address of the server (default: ${DEFAULT-VALUE}).",
      defaultValue = "http://127.0.0.1:8000")
  private URI url = URI.create("http://127.0.0.1:8000");

  ServerClient connect() {
    return new ServerClient(url);
  }
}
