package io.pipelane.server.protocol;

import com.fasterxml.jackson.core.JsonGenerator;
import io.pipelane.lanes.monitor.DeviceSample;
import io.pipelane.switcher.memory.account.TransferCounters;
import io.pipelane.switcher.sharing.EvictionCounts;
import io.pipelane.switcher.sharing.SharingOverview;
import io.pipelane.switcher.sharing.monitor.DeviceLook;
import io.pipelane.switcher.sharing.trial.ShareOverview;
import java.io.IOException;
import java.util.OptionalDouble;

/** The writer of how online and offline work share a device; what is not measured is left out. */
final class SharingAnswer {
  private SharingAnswer() {}

  static void write(JsonGenerator json, SharingOverview sharing, TransferCounters.Offline moved)
      throws IOException {
    DeviceLook seen = sharing.seen();
    json.writeStartObject();
    json.writeStringField("state", seen.state().toString());
    json.writeStringField("reason", seen.reason());
    json.writeNumberField("offline_share", seen.share());
    json.writeNumberField("load", seen.load());
    json.writeNumberField("overlimit_entries", seen.overlimitEntries());
    json.writeNumberField("online_requests", sharing.online().requests());
    json.writeNumberField("online_per_second", sharing.online().perSecond());
    json.writeNumberField("offline_running", sharing.offline().running());
    json.writeNumberField("offline_runs", sharing.offline().ended());
    json.writeNumberField("offline_held_ns", sharing.offline().heldNanos());
    json.writeNumberField("offline_made_way", sharing.offline().madeWay());
    json.writeNumberField("offline_moved_bytes", moved.bytesLoaded());
    json.writeNumberField("offline_evicted_pages", moved.pagesTakenBack());
    write(json, sharing.evictions());
    write(json, sharing.multiprocessors());
    json.writeStringField("monitor", seen.source());
    DeviceSample sample = seen.sample();
    write(json, "utilization", sample.work().utilization());
    write(json, "activity", sample.work().activity());
    write(json, "clock", sample.work().clock());
    write(json, "memory", sample.memory().taken());
    write(json, "memory_pressure", sample.memory().hostPressure());
    write(json, "host_memory", sample.memory().hostTaken());
    write(json, "watts", sample.health().watts());
    write(json, "celsius", sample.health().celsius());
    json.writeEndObject();
  }

  private static void write(JsonGenerator json, EvictionCounts evictions) throws IOException {
    json.writeObjectFieldStart("evictions");
    json.writeNumberField("stops", evictions.stops());
    json.writeNumberField("stop_ns", evictions.stopNanos());
    json.writeNumberField("longest_stop_ns", evictions.longestStopNanos());
    json.writeNumberField("memory_ns", evictions.memoryNanos());
    json.writeNumberField("longest_memory_ns", evictions.longestMemoryNanos());
    json.writeNumberField("memory_bytes", evictions.memoryBytes());
    json.writeEndObject();
  }

  private static void write(JsonGenerator json, ShareOverview share) throws IOException {
    json.writeObjectFieldStart("multiprocessors");
    json.writeStringField("state", share.state().toString());
    json.writeNumberField("percent", share.percent());
    json.writeArrayFieldStart("sizes");
    for (ShareOverview.Size size : share.sizes()) {
      json.writeStartObject();
      json.writeNumberField("percent", size.percent());
      write(json, "offline_with", size.offlineWith());
      write(json, "online_slowdown", size.onlineSlowdown());
      json.writeEndObject();
    }
    json.writeEndArray();
    write(json, "offline_without", share.offlineWithout());
    write(json, "offline_with", share.offlineWith());
    write(json, "online_slowdown", share.onlineSlowdown());
    json.writeEndObject();
  }

  private static void write(JsonGenerator json, String name, OptionalDouble value)
      throws IOException {
    if (value.isPresent()) {
      json.writeNumberField(name, value.getAsDouble());
    }
  }
}
