package io.pipelane.loadgen;

import io.pipelane.loadgen.settings.Endpoint;
import io.pipelane.loadgen.settings.Trust;
import java.net.URI;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Option;

/** Options that say how servers are spoken to. */
final class ConnectionOptions {
  @Option(
      names = {"-i", "--protocol"},
      paramLabel = "http|grpc",
      defaultValue = "http",
      description = "What an address without a scheme is spoken to in (${DEFAULT-VALUE}).")
  Protocol protocol = Protocol.HTTP;

  /** The transport that the protocol's messages travel in. */
  enum Protocol {
    HTTP,
    GRPC
  }

  @Option(
      names = {"-H", "--header"},
      paramLabel = "NAME:VALUE|@FILE",
      converter = Header.Converter.class,
      description = {
        "A header for every request, in gRPC metadata; give it several times for several. Results do "
            + "not keep the value.",
        "@FILE reads one from each line of a file: others on this machine see a command's arguments."
      })
  List<Header> headers = new ArrayList<>();

  @ArgGroup(multiplicity = "0..1")
  Certificates certificates = new Certificates();

  /** The options that say which certificates of servers are accepted. */
  static final class Certificates {
    @Option(
        names = {"--ca", "--ssl-https-ca-certificates-file", "--ssl-grpc-root-certifications-file"},
        paramLabel = "FILE",
        description = "With https and grpcs: accept what the PEM certificates in a file vouch for.")
    @Nullable Path authorities;

    @Option(
        names = "--insecure",
        description = "With https and grpcs: accept any certificate, for any name.")
    boolean insecure;
  }

  /** The server on this machine. */
  Target usual() {
    return Target.parse(protocol == Protocol.HTTP ? "127.0.0.1:8000" : "127.0.0.1:8001");
  }

  /** The server that a target names. */
  Endpoint endpoint(Target target) {
    String text = target.address();
    String scheme = protocol.name().toLowerCase(Locale.ROOT);
    return new Endpoint(
        URI.create(text.contains("://") ? text : scheme + "://" + text),
        trust(),
        headers.stream().collect(Collectors.toMap(Header::name, Header::value, (_, last) -> last)));
  }

  /** Checks that where certificates are spoken of, some server shows one. */
  void requireUsed(List<Endpoint> servers) {
    boolean isGiven = certificates.authorities != null || certificates.insecure;
    if (isGiven && servers.stream().noneMatch(Endpoint::isSecured)) {
      throw new IllegalArgumentException(
          "--ca and --insecure are for https and grpcs, and the server is %s"
              .formatted(servers.getFirst()));
    }
  }

  private Trust trust() {
    if (certificates.authorities != null) {
      return new Trust.Authorities(certificates.authorities);
    }
    return certificates.insecure ? new Trust.Anybody() : new Trust.Known();
  }
}
