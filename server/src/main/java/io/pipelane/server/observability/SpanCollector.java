package io.pipelane.server.observability;

import io.opentelemetry.exporter.otlp.http.trace.OtlpHttpSpanExporter;
import io.opentelemetry.exporter.otlp.http.trace.OtlpHttpSpanExporterBuilder;
import io.opentelemetry.sdk.trace.export.SpanExporter;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.section.TracingConfig;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.util.Optional;

/**
 * The collector that spans are sent to, by OTLP over HTTP.
 *
 * @param headers file of what is sent along, such as who sends; see {@link CollectorHeaders}
 * @param authorities who must have signed the collector's certificate, in PEM; those that Java
 *     trusts if empty
 */
public record SpanCollector(URI endpoint, Optional<Path> headers, Optional<Path> authorities) {

  /** What a configuration names; empty where spans go nowhere. */
  public static Optional<SpanCollector> of(TracingConfig config) {
    return config
        .endpoint()
        .map(endpoint -> new SpanCollector(endpoint, config.headers(), config.authorities()));
  }

  /**
   * What sends there; connects when there is something to send.
   *
   * @throws StatusException {@link Status#INVALID_ARGUMENT} when a file cannot be used
   */
  SpanExporter exporter() {
    OtlpHttpSpanExporterBuilder exporter =
        OtlpHttpSpanExporter.builder().setEndpoint(endpoint.toString());
    headers.map(CollectorHeaders::in).ifPresent(exporter::setHeaders);
    authorities.map(SpanCollector::certificates).ifPresent(exporter::setTrustedCertificates);
    return new TellingExporter(exporter.build(), endpoint);
  }

  private static byte[] certificates(Path file) {
    try {
      byte[] pem = Files.readAllBytes(file);
      int count =
          CertificateFactory.getInstance("X.509")
              .generateCertificates(new ByteArrayInputStream(pem))
              .size();
      if (count == 0) {
        throw new CertificateException("it has no certificate");
      }
      return pem;
    } catch (IOException | CertificateException e) {
      throw new StatusException(
          Status.INVALID_ARGUMENT,
          "tracing.authorities, %s, cannot be used: %s; it is a file of certificates in PEM"
              .formatted(file, e),
          e);
    }
  }
}
