package io.pipelane.server.protocol;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.netty.buffer.ByteBuf;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.process.WorkersOverview;
import io.pipelane.modelstore.repository.IncomingVersion;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.server.catalog.ModelCatalog.Entry;
import io.pipelane.server.catalog.ServedModel;
import io.pipelane.server.state.HostsOverview;
import io.pipelane.server.state.SeenWorkers;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** The writers of every answer that is not an inference's; each method appends one JSON text. */
public final class Answers {
  public static final String SERVER_NAME = "pipelane";

  private static final List<String> EXTENSIONS =
      List.of(
          "binary_tensor_data",
          "model_configuration",
          "model_repository",
          "model_repository(unload_dependents)",
          "schedule_policy",
          "statistics",
          "trace",
          "logging");

  /** Models of a worker that are told by name. */
  static final int MOST_MODELS = 100;

  private Answers() {}

  /**
   * The extensions served, as the server's metadata names them.
   *
   * @param sharedMemory whether system shared memory is one of them
   */
  public static List<String> extensions(boolean sharedMemory) {
    return sharedMemory
        ? Stream.concat(EXTENSIONS.stream(), Stream.of("system_shared_memory")).toList()
        : EXTENSIONS;
  }

  /** What the server is and which extensions it serves. */
  public static void server(ByteBuf target, List<String> extensions) {
    Json.write(
        target,
        json -> {
          json.writeStartObject();
          json.writeStringField("name", SERVER_NAME);
          json.writeStringField("version", ProductVersion.get());
          json.writeArrayFieldStart("extensions");
          for (String extension : extensions) {
            json.writeString(extension);
          }
          json.writeEndArray();
          json.writeEndObject();
        });
  }

  /** {@code {"live":true}}: the process answers. */
  public static void live(ByteBuf target) {
    flag(target, "live", true);
  }

  /** Whether the server takes requests. */
  public static void ready(ByteBuf target, boolean ready) {
    flag(target, "ready", ready);
  }

  private static void flag(ByteBuf target, String name, boolean value) {
    Json.write(
        target,
        json -> {
          json.writeStartObject();
          json.writeBooleanField(name, value);
          json.writeEndObject();
        });
  }

  /** A model that takes requests. */
  public static void modelReady(ByteBuf target, ServedModel model) {
    Json.write(
        target,
        json -> {
          json.writeStartObject();
          json.writeStringField("name", model.version().model());
          json.writeBooleanField("ready", true);
          json.writeEndObject();
        });
  }

  /** A model's versions, inputs and outputs, and what runs it. */
  public static void model(ByteBuf target, ServedModel model, String platform) {
    Json.write(
        target,
        json -> {
          json.writeStartObject();
          json.writeStringField("name", model.version().model());
          json.writeArrayFieldStart("versions");
          for (long version : model.versions()) {
            json.writeString(Long.toString(version));
          }
          json.writeEndArray();
          json.writeStringField("platform", platform);
          tensors(json, "inputs", model.inputs());
          tensors(json, "outputs", model.outputs());
          json.writeEndObject();
        });
  }

  private static void tensors(JsonGenerator json, String member, List<TensorSpec> specs)
      throws IOException {
    json.writeArrayFieldStart(member);
    for (TensorSpec spec : specs) {
      json.writeStartObject();
      json.writeStringField("name", spec.name());
      json.writeStringField("datatype", spec.type().name());
      json.writeFieldName("shape");
      long[] dimensions = spec.shape().toArray();
      json.writeArray(dimensions, 0, dimensions.length);
      json.writeEndObject();
    }
    json.writeEndArray();
  }

  /** The repository's index. */
  public static void index(ByteBuf target, List<Entry> entries) {
    Json.write(
        target,
        json -> {
          json.writeStartArray();
          for (Entry entry : entries) {
            json.writeStartObject();
            writeEntry(json, entry);
            json.writeEndObject();
          }
          json.writeEndArray();
        });
  }

  /** The members of an index's entry. */
  static void writeEntry(JsonGenerator json, Entry entry) throws IOException {
    json.writeStringField("name", entry.name());
    if (!entry.version().isEmpty()) {
      json.writeStringField("version", entry.version());
    }
    json.writeStringField("state", entry.state().name());
    json.writeStringField("reason", entry.reason());
    if (!entry.notes().isEmpty()) {
      json.writeArrayFieldStart("notes");
      for (String note : entry.notes()) {
        json.writeString(note);
      }
      json.writeEndArray();
    }
  }

  /** What has been put into the repository. */
  public static void stored(ByteBuf target, IncomingVersion.Stored stored) {
    Json.write(
        target,
        json -> {
          json.writeStartObject();
          json.writeStringField("name", stored.version().model());
          json.writeStringField("version", Long.toString(stored.version().version()));
          json.writeNumberField("bytes", stored.bytes());
          json.writeStringField("sha256", stored.sha256());
          json.writeEndObject();
        });
  }

  /** How far the last upload of a version has come, and what has become of the version since. */
  public static void upload(
      ByteBuf target,
      String model,
      String version,
      Optional<UploadProgress> upload,
      Optional<Entry> entry) {
    Json.write(
        target,
        json -> {
          json.writeStartObject();
          json.writeStringField("name", model);
          json.writeStringField("version", version);
          if (upload.isPresent()) {
            writeProgress(json, upload.get());
          }
          if (entry.isPresent()) {
            json.writeStringField("state", entry.get().state().name());
            json.writeStringField("reason", entry.get().reason());
          }
          json.writeEndObject();
        });
  }

  private static void writeProgress(JsonGenerator json, UploadProgress upload) throws IOException {
    json.writeStringField("phase", upload.phase().name());
    json.writeNumberField("bytes", upload.bytes());
    if (upload.announced() >= 0) {
      json.writeNumberField("of", upload.announced());
    }
    if (upload.stored().isPresent()) {
      json.writeStringField("sha256", upload.stored().get().sha256());
    }
    if (!upload.failure().isEmpty()) {
      json.writeStringField("error", upload.failure());
    }
  }

  /** The worker processes. */
  public static void workers(ByteBuf target, SeenWorkers workers) {
    Json.write(target, json -> writeWorkers(json, workers));
  }

  static void writeWorkers(JsonGenerator json, SeenWorkers seen) throws IOException {
    WorkersOverview workers = seen.all();
    json.writeStartObject();
    json.writeNumberField("started", workers.started());
    json.writeNumberField("lost", workers.lost());
    json.writeStringField("last_loss", seen.lastLoss());
    json.writeNumberField("last_pause_us", workers.lastPauseNanos() / 1_000);
    json.writeArrayFieldStart("workers");
    for (WorkersOverview.Entry worker : workers.workers()) {
      json.writeStartObject();
      json.writeNumberField("id", worker.id());
      json.writeNumberField("pid", worker.pid());
      json.writeStringField("state", worker.state().name());
      json.writeNumberField("sessions", worker.sessions());
      writeModels(json, seen.models(worker), worker.models().size());
      json.writeNumberField("warmed_up", worker.warmedUp());
      json.writeNumberField("memory_bytes", worker.memoryBytes());
      json.writeStringField("device", worker.device());
      json.writeNumberField("device_bytes", worker.deviceBytes());
      json.writeNumberField("framework_bytes", worker.frameworkBytes());
      json.writeEndObject();
    }
    json.writeEndArray();
    json.writeEndObject();
  }

  /** As many of those seen as people read; of others, how many there are. */
  private static void writeModels(
      JsonGenerator json, List<WorkersOverview.BuiltModel> seen, int models) throws IOException {
    List<WorkersOverview.BuiltModel> named = seen.subList(0, Math.min(MOST_MODELS, seen.size()));
    json.writeArrayFieldStart("models");
    for (WorkersOverview.BuiltModel model : named) {
      json.writeStartObject();
      json.writeStringField("name", model.version().model());
      json.writeStringField("version", Long.toString(model.version().version()));
      json.writeNumberField("sessions", model.sessions());
      json.writeEndObject();
    }
    json.writeEndArray();
    json.writeNumberField("more_models", models - named.size());
  }

  /** The hosts that share models with this one. */
  public static void hosts(ByteBuf target, HostsOverview hosts) {
    Json.write(target, json -> writeHosts(json, hosts));
  }

  private static void writeHosts(JsonGenerator json, HostsOverview hosts) throws IOException {
    json.writeStartObject();
    json.writeStringField("own", hosts.own());
    json.writeBooleanField("registry_reached", hosts.registryReached());
    json.writeArrayFieldStart("hosts");
    for (HostsOverview.Other host : hosts.others()) {
      json.writeStartObject();
      json.writeStringField("name", host.name());
      json.writeStringField("state", host.state().name());
      json.writeNumberField("lanes", host.lanes());
      json.writeNumberField("wait_us", host.waitMicros());
      json.writeNumberField("under_way", host.underWay());
      json.writeArrayFieldStart("models");
      for (HostsOverview.Model model : host.models()) {
        json.writeStartObject();
        json.writeStringField("name", model.name());
        json.writeNumberField("version", model.version());
        json.writeNumberField("stall_us", model.stallMicros());
        json.writeEndObject();
      }
      json.writeEndArray();
      json.writeEndObject();
    }
    json.writeEndArray();
    json.writeEndObject();
  }

  /** {@code {"error":...}}. */
  public static void error(ByteBuf target, String message) {
    Json.write(
        target,
        json -> {
          json.writeStartObject();
          json.writeStringField("error", message);
          json.writeEndObject();
        });
  }

  /** What such an answer says; empty for another one. */
  public static String errorIn(ByteBuf answer) {
    try {
      return Json.read(answer, Answers::errorIn);
    } catch (StatusException e) {
      return "";
    }
  }

  private static String errorIn(JsonParser json) throws IOException {
    boolean isError =
        json.nextToken() == JsonToken.START_OBJECT
            && "error".equals(json.nextFieldName())
            && json.nextToken() == JsonToken.VALUE_STRING;
    String message = isError ? json.getText() : "";
    return isError && json.nextToken() == JsonToken.END_OBJECT ? message : "";
  }
}
