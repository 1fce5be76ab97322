package io.pipelane.server.grpc;

import io.grpc.Metadata;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.protocol.grpc.ModelInferRequest;
import io.pipelane.server.hosts.ForwardedHeaders;
import io.pipelane.server.hosts.Hosts;
import io.pipelane.server.hosts.Hosts.Elsewhere;
import io.pipelane.server.net.Backend;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The decision which inferences another host is to answer. Safe for any thread. */
final class CallForwarding {
  private static final Metadata.Key<String> MARK =
      Metadata.Key.of(ForwardedHeaders.MARK, Metadata.ASCII_STRING_MARSHALLER);

  private final Hosts hosts;
  private final InferenceParts parts;
  private final int maxMessageBytes;

  /**
   * Decides by what the hosts have said.
   *
   * @param maxMessageBytes the most that another host takes as the body of a request
   */
  CallForwarding(Hosts hosts, InferenceParts parts, int maxMessageBytes) {
    this.hosts = hosts;
    this.parts = parts;
    this.maxMessageBytes = maxMessageBytes;
  }

  /**
   * Gives an inference to another host where that is better; on the call's event loop.
   *
   * @param metadata as the client sent it
   * @param end may be told before this returns
   * @return null where this host is to answer
   * @throws StatusException {@link Status#TOO_LARGE} when only others could answer, and it is too
   *     large for them
   */
  @Nullable ForwardedCall begin(
      ModelInferRequest message, Metadata metadata, CallOrigin origin, ForwardedCall.End end) {
    Optional<Elsewhere> elsewhere = elsewhere(message, metadata, origin);
    if (elsewhere.isEmpty()) {
      return null;
    }
    ModelInferRequest named = naming(elsewhere.get(), message);
    int size = named.getSerializedSize();
    if (size <= maxMessageBytes) {
      return ForwardedCall.begin(elsewhere.get(), named, metadata, parts, end);
    }
    if (elsewhere.get().canComeBack()) {
      return null;
    }
    throw new StatusException(
        Status.TOO_LARGE,
        "the message of %d bytes is larger than server.max-request-size, %d bytes"
            .formatted(size, maxMessageBytes));
  }

  private static ModelInferRequest naming(Elsewhere where, ModelInferRequest message) {
    return message.getModelVersion().equals(where.version())
        ? message
        : message.toBuilder().setModelVersion(where.version()).build();
  }

  private Optional<Elsewhere> elsewhere(
      ModelInferRequest message, Metadata metadata, CallOrigin origin) {
    String model = message.getModelName();
    String version = message.getModelVersion();
    boolean isForbidden = !origin.caller().sees(model); // This host says so.
    if (isForbidden || metadata.containsKey(MARK)) {
      return Optional.empty();
    }
    Backend backend = parts.backend();
    return hosts
        .elsewhere(
            model, version, backend.find(model, version), () -> backend.refusal(model, version))
        .filter(_ -> !namesMemoryOfThisHost(message));
  }

  /** Whether inputs or outputs lie in shared memory, which other hosts do not see. */
  private static boolean namesMemoryOfThisHost(ModelInferRequest message) {
    return message.getInputsList().stream()
            .anyMatch(input -> RegionParameters.areIn(input.getParametersMap()))
        || message.getOutputsList().stream()
            .anyMatch(output -> RegionParameters.areIn(output.getParametersMap()));
  }
}
