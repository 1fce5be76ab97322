package io.pipelane.bench.residency;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pipelane.modelstore.Plan;
import io.pipelane.switcher.grouping.LinkModel;
import io.pipelane.switcher.grouping.PipelineModel;
import io.pipelane.switcher.simulator.SimulatedModel;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Structures as they were measured on a device: segments, their times, and the link.
 *
 * @param device what it was, in words
 * @param how it was recorded, in words
 */
public record RecordedPlans(String device, String how, List<Structure> structures) {
  /** A copy's first bytes, which a GPU's own link carries alone ({@code InFlight} of lanes). */
  private static final long ALONE_BYTES = 4L << 20;

  /**
   * A structure.
   *
   * @param measuredMillis the latency of its runs by the share of weights resident, in percent;
   *     warm ones under 100; empty where none were measured
   */
  public record Structure(String name, SimulatedModel model, Map<Double, Double> measuredMillis) {
    /** What a run with this share of weights took beyond a warm one, in milliseconds, if known. */
    @Nullable Double measuredStall(double percent) {
      Double cold = measuredMillis.get(percent);
      Double warm = measuredMillis.get(100.0);
      return cold == null || warm == null ? null : Double.valueOf(cold - warm);
    }

    /** A model of this structure with weights of its own. */
    public SimulatedModel variant(int number) {
      return model.named(name + "-" + number);
    }
  }

  /** The plans recorded on an H200, which come with the program. */
  public static RecordedPlans h200() throws IOException {
    return h200(1);
  }

  /**
   * The same where copies pass the links of so many devices, of which all but the first are
   * borrowed and as fast as its own. Only with one link are there latencies that were measured.
   */
  public static RecordedPlans h200(int links) throws IOException {
    if (links < 1) {
      throw new IllegalArgumentException("%d links; the least is 1".formatted(links));
    }
    try (InputStream resource = RecordedPlans.class.getResourceAsStream("h200.json")) {
      return read(new ObjectMapper().readTree(Objects.requireNonNull(resource)), links);
    }
  }

  private static RecordedPlans read(JsonNode root, int links) {
    List<Structure> structures = new ArrayList<>();
    for (JsonNode node : root.get("structures")) {
      structures.add(structure(root, node, links));
    }
    return new RecordedPlans(
        root.get("device").asText(), root.get("how").asText(), List.copyOf(structures));
  }

  private static Structure structure(JsonNode root, JsonNode node, int links) {
    String name = node.get("name").asText();
    List<Plan.Segment> segments = new ArrayList<>();
    List<Long> nanos = new ArrayList<>();
    long offset = 0;
    for (JsonNode segment : node.get("segments")) {
      long bytes = segment.get(0).asLong();
      segments.add(new Plan.Segment(offset, bytes, 1));
      nanos.add(segment.get(1).asLong());
      offset += bytes;
    }
    Plan plan = new Plan(name, List.of(), List.of(), List.of(), segments, offset, 0, 0, List.of());
    LinkModel own =
        LinkModel.line(
            root.get("cost_per_copy_ns").asDouble(), node.get("bytes_per_second").asDouble());
    LinkModel link = own.beside(Collections.nCopies(links - 1, own), ALONE_BYTES);
    PipelineModel pipeline = PipelineModel.of(plan, nanos, link, root.get("lead_ns").asLong(), 0);
    Map<Double, Double> measured = new TreeMap<>();
    node.get("measured_ms")
        .properties()
        .forEach(
            entry -> {
              boolean warm = entry.getKey().equals("warm");
              measured.put(
                  warm ? 100 : Double.parseDouble(entry.getKey()), entry.getValue().asDouble());
            });
    SimulatedModel model =
        new SimulatedModel(
            name,
            plan,
            pipeline,
            root.get("transfer_ns").asLong(),
            root.get("remap_page_ns").asLong());
    return new Structure(name, model, links == 1 ? measured : Map.of());
  }
}
