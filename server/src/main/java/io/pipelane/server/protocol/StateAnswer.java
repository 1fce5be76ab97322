package io.pipelane.server.protocol;

import com.fasterxml.jackson.core.JsonGenerator;
import io.netty.buffer.ByteBuf;
import io.pipelane.server.metrics.DeviceState;
import io.pipelane.server.state.ServerState;
import io.pipelane.server.state.ServerState.Model;
import io.pipelane.server.state.ServerState.OfflineJob;
import io.pipelane.server.state.ServerState.Weights;
import io.pipelane.server.statistics.DurationBuckets;
import io.pipelane.server.statistics.ModelCounters;
import io.pipelane.switcher.MemoryOverview;
import io.pipelane.switcher.memory.account.Ledger;
import io.pipelane.switcher.memory.account.TransferCounters;
import java.io.IOException;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** The writer of what {@code GET /v2/pipelane/state} answers and its events bring. */
public final class StateAnswer {
  private StateAnswer() {}

  /** Appends one JSON text, without line ends. */
  public static void write(ByteBuf target, ServerState state) {
    write(
        target,
        state,
        json -> {
          for (Model model : state.models()) {
            writeModel(json, model);
          }
        });
  }

  /**
   * The same with other models.
   *
   * @param models writes those that are told, one after another
   */
  static void write(ByteBuf target, ServerState state, Json.Writing models) {
    Json.write(
        target,
        json -> {
          json.writeStartObject();
          json.writeStringField("name", Answers.SERVER_NAME);
          json.writeStringField("version", ProductVersion.get());
          json.writeNumberField("started_ms", state.startedMillis());
          json.writeNumberField("time_ms", state.timeMillis());
          json.writeBooleanField("ready", state.ready());
          writeDurationLimits(json);
          json.writeArrayFieldStart("models");
          models.write(json);
          json.writeEndArray();
          json.writeArrayFieldStart("devices");
          for (Map.Entry<String, DeviceState> device : state.devices().entrySet()) {
            writeDevice(json, device.getKey(), device.getValue(), state.offlineJobs());
          }
          json.writeEndArray();
          json.writeNumberField("jobs", state.jobs());
          json.writeFieldName("workers");
          Answers.writeWorkers(json, state.workers());
          json.writeEndObject();
        });
  }

  /** The last bucket has no limit. */
  private static void writeDurationLimits(JsonGenerator json) throws IOException {
    double[] seconds = DurationBuckets.limitsSeconds();
    json.writeArrayFieldStart("duration_limits_us");
    for (int i = 0; i < seconds.length - 1; i++) {
      json.writeNumber(Math.round(seconds[i] * 1e6));
    }
    json.writeEndArray();
  }

  /** Writes one of the state's models. */
  static void writeModel(JsonGenerator json, Model model) throws IOException {
    json.writeStartObject();
    Answers.writeEntry(json, model.entry());
    if (model.priority().isPresent()) {
      json.writeStringField("class", model.priority().get().name().toLowerCase(Locale.ROOT));
    }
    if (!model.weights().isEmpty()) {
      json.writeFieldName("weights");
      writeWeights(json, model.weights().getFirst());
    }
    if (model.weights().size() > 1) {
      json.writeArrayFieldStart("replicas");
      for (Weights weights : model.weights().subList(1, model.weights().size())) {
        writeWeights(json, weights);
      }
      json.writeEndArray();
    }
    if (model.requests().isPresent()) {
      writeRequests(json, model.requests().get());
    }
    json.writeEndObject();
  }

  private static void writeWeights(JsonGenerator json, Weights weights) throws IOException {
    Ledger.Entry ledger = weights.ledger();
    json.writeStartObject();
    json.writeStringField("device", weights.device());
    json.writeNumberField("bytes", ledger.weightBytes());
    json.writeNumberField("in_place_bytes", ledger.inPlaceBytes());
    json.writeNumberField("in_place_copied_bytes", ledger.copiedBytes());
    json.writeNumberField("resident_bytes", ledger.residentBytes());
    json.writeBooleanField("arriving", ledger.arriving());
    json.writeNumberField("running", ledger.leases());
    json.writeStringField("class", ledger.offline() ? "offline" : "online");
    json.writeArrayFieldStart("group_bytes");
    for (long bytes : ledger.groupBytes()) {
      json.writeNumber(bytes);
    }
    json.writeEndArray();
    json.writeEndObject();
  }

  private static void writeRequests(JsonGenerator json, ModelCounters counters) throws IOException {
    json.writeObjectFieldStart("requests");
    json.writeNumberField("pending", counters.pending());
    json.writeNumberField("success", counters.success().count());
    json.writeNumberField("failure", counters.failure().count());
    json.writeNumberField("request_ns", counters.success().nanos());
    json.writeNumberField("queue_ns", counters.queue().nanos());
    json.writeNumberField("execute_ns", counters.execute().nanos());
    json.writeNumberField("stalled", counters.stall().count());
    json.writeNumberField("stall_ns", counters.stall().nanos());
    json.writeNumberField("last_inference_ms", counters.lastInferenceMillis());
    json.writeFieldName("durations");
    long[] durations = counters.durations().counts();
    json.writeArray(durations, 0, durations.length);
    json.writeEndObject();
  }

  private static void writeOfflineJob(JsonGenerator json, OfflineJob job) throws IOException {
    json.writeObjectFieldStart("offline_job");
    json.writeStringField("id", job.id());
    json.writeStringField("model", job.model().model());
    json.writeStringField("by", job.place().by().name().toLowerCase(Locale.ROOT));
    json.writeNumberField("predicted_throughput", job.place().predicted());
    json.writeEndObject();
  }

  private static void writeDevice(
      JsonGenerator json, String name, DeviceState device, List<OfflineJob> jobs)
      throws IOException {
    MemoryOverview memory = device.memory();
    TransferCounters transfers = device.transfers();
    json.writeStartObject();
    json.writeStringField("name", name);
    json.writeBooleanField("usable", device.member().usable());
    json.writeNumberField("models", device.member().models());
    json.writeNumberField("replicas", device.member().replicas());
    json.writeNumberField("rerouted", device.member().rerouted());
    json.writeNumberField("page_bytes", memory.weights().pageBytes());
    json.writeNumberField("capacity_bytes", memory.weights().capacityBytes());
    json.writeNumberField("lent_bytes", memory.weights().lentBytes());
    json.writeNumberField("lane_borrowed_bytes", memory.weights().lanesBytes());
    json.writeNumberField("shared_bytes", memory.weights().sharedBytes());
    json.writeNumberField("working_bytes", memory.workingBytes());
    json.writeNumberField("constant_bytes", memory.constantBytes());
    json.writeNumberField("lane_bytes", memory.laneBytes());
    json.writeNumberField("state_bytes", memory.stateBytes());
    json.writeNumberField("framework_bytes", memory.frameworkBytes());
    json.writeNumberField(
        "sessions", memory.sessions().entries().stream().mapToInt(entry -> entry.sessions()).sum());
    json.writeNumberField("waiting", device.queue().requests());
    json.writeNumberField("estimate_error", device.estimateError());
    json.writeNumberField("switches", transfers.loads());
    json.writeNumberField("moved_bytes", transfers.bytesLoaded());
    json.writeNumberField("borrowed_bytes", transfers.bytesBorrowed());
    json.writeNumberField("peer_bytes", transfers.bytesFromPeers());
    json.writeNumberField("fetched_ahead_bytes", transfers.bytesFetchedAhead());
    json.writeNumberField("evicted_pages", transfers.pagesTakenBack());
    json.writeNumberField("failsafe_pagings", transfers.failsafePagings());
    json.writeNumberField("tables_copied", transfers.tablesCopied());
    json.writeNumberField("remaps", transfers.remaps());
    json.writeFieldName("sharing");
    SharingAnswer.write(json, device.sharing(), transfers.offline());
    for (OfflineJob job : jobs) {
      if (job.place().device().equals(name)) {
        writeOfflineJob(json, job);
        break; // A second one is about to move.
      }
    }
    json.writeEndObject();
  }
}
