package io.pipelane.server.protocol;

import com.fasterxml.jackson.core.JsonGenerator;
import io.netty.buffer.ByteBuf;
import io.pipelane.server.state.HeldMemory;
import io.pipelane.server.statistics.BatchCounters;
import io.pipelane.server.statistics.ModelCounters;
import io.pipelane.server.statistics.ModelCounters.Total;
import java.io.IOException;
import java.util.List;

/** The writer of the statistics extension's answer. */
public final class StatisticsAnswer {
  private static final Total NONE = new Total(0, 0);

  private StatisticsAnswer() {}

  /** Appends one JSON text. */
  public static void write(ByteBuf target, List<ModelCounters> models, HeldMemory held) {
    Json.write(
        target,
        json -> {
          json.writeStartObject();
          json.writeArrayFieldStart("model_stats");
          for (ModelCounters model : models) {
            writeModel(json, model, held.of(model.version()));
          }
          json.writeEndArray();
          json.writeEndObject();
        });
  }

  private static void writeModel(
      JsonGenerator json, ModelCounters model, List<HeldMemory.Part> held) throws IOException {
    json.writeStartObject();
    json.writeStringField("name", model.version().model());
    json.writeStringField("version", Long.toString(model.version().version()));
    json.writeNumberField("last_inference", model.lastInferenceMillis());
    json.writeNumberField("inference_count", model.inferences());
    json.writeNumberField("execution_count", model.executions());
    json.writeObjectFieldStart("inference_stats");
    writeTotal(json, "success", model.success());
    writeTotal(json, "fail", model.failure());
    writeTotal(json, "queue", model.queue());
    writeCompute(json, model.decode(), model.execute(), model.encode());
    writeTotal(json, "cache_hit", NONE);
    writeTotal(json, "cache_miss", NONE);
    writeTotal(json, "stall", model.stall());
    json.writeEndObject();
    json.writeObjectFieldStart("response_stats");
    json.writeEndObject();
    json.writeArrayFieldStart("batch_stats");
    for (BatchCounters batch : model.batches()) {
      json.writeStartObject();
      json.writeNumberField("batch_size", batch.size());
      writeCompute(json, batch.decode(), batch.execute(), batch.encode());
      json.writeEndObject();
    }
    json.writeEndArray();
    json.writeArrayFieldStart("memory_usage");
    for (HeldMemory.Part part : held) {
      json.writeStartObject();
      json.writeStringField("type", part.place().type());
      json.writeNumberField("id", part.place().id());
      json.writeNumberField("byte_size", part.bytes());
      json.writeEndObject();
    }
    json.writeEndArray();
    json.writeEndObject();
  }

  private static void writeCompute(JsonGenerator json, Total input, Total infer, Total output)
      throws IOException {
    writeTotal(json, "compute_input", input);
    writeTotal(json, "compute_infer", infer);
    writeTotal(json, "compute_output", output);
  }

  private static void writeTotal(JsonGenerator json, String name, Total total) throws IOException {
    json.writeObjectFieldStart(name);
    json.writeNumberField("count", total.count());
    json.writeNumberField("ns", total.nanos());
    json.writeEndObject();
  }
}
