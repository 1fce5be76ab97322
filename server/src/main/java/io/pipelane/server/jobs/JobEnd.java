package io.pipelane.server.jobs;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/** The end of a job, as its folder keeps it. */
record JobEnd(JobState state, String reason) {
  static final String FILE = "end.json";

  byte[] encoded() {
    ObjectNode node = JobJson.object();
    node.put("state", state.name());
    node.put("reason", reason);
    return JobJson.write(node);
  }

  /** Reads it; empty for a job that has not ended. */
  static Optional<JobEnd> read(Path folder) throws IOException {
    Path file = folder.resolve(FILE);
    if (!Files.exists(file)) {
      return Optional.empty();
    }
    JsonNode node = JobJson.parse(Files.readAllBytes(file));
    return Optional.of(
        new JobEnd(JobState.valueOf(node.path("state").asText()), node.path("reason").asText()));
  }
}
