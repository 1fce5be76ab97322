package io.pipelane.bench.grouping;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.pipelane.lanes.calibration.LinkProfile;
import io.pipelane.lanes.calibration.LinkProfile.Copy;
import io.pipelane.switcher.grouping.LinkModel;
import io.pipelane.switcher.grouping.PipelineCosts;
import io.pipelane.switcher.grouping.PipelineModel;
import io.pipelane.switcher.grouping.PipelineModel.Segment;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;

/**
 * Models as they were measured on a device, and the device's link; a JSON file.
 *
 * @param device what it was, in words
 * @param how it was recorded, in words
 * @param link copies, as bytes and nanoseconds each
 * @param leadNanos see {@link PipelineModel}
 * @param waitNanos see {@link PipelineModel}
 */
public record RecordedPlans(
    String device,
    String how,
    List<List<Long>> link,
    @JsonProperty("lead_ns") long leadNanos,
    @JsonProperty("wait_ns") long waitNanos,
    List<Model> models) {
  private static final ObjectMapper JSON =
      JsonMapper.builder()
          .enable(SerializationFeature.INDENT_OUTPUT)
          .enable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES)
          .enable(DeserializationFeature.FAIL_ON_MISSING_CREATOR_PROPERTIES)
          .enable(DeserializationFeature.FAIL_ON_NULL_CREATOR_PROPERTIES)
          .build();

  public RecordedPlans {
    link = List.copyOf(link);
    models = List.copyOf(models);
  }

  /**
   * A model.
   *
   * @param layers in execution order, unweighted ones too; bytes and nanoseconds each
   */
  public record Model(String name, List<List<Long>> layers) {
    public Model {
      layers = List.copyOf(layers);
    }
  }

  /** Plans of a device with this link. */
  public static RecordedPlans of(
      String device, String how, PipelineCosts costs, List<Model> models) {
    List<List<Long>> link =
        costs.link().profile().copies().stream()
            .map(copy -> List.of(copy.bytes(), Math.round(copy.nanos())))
            .toList();
    return new RecordedPlans(device, how, link, costs.leadNanos(), costs.waitNanos(), models);
  }

  /** Those of an H200 that come along. */
  static RecordedPlans h200() throws IOException {
    try (InputStream resource = RecordedPlans.class.getResourceAsStream("h200.json")) {
      return JSON.readValue(Objects.requireNonNull(resource), RecordedPlans.class);
    }
  }

  static RecordedPlans read(Path file) throws IOException {
    return JSON.readValue(file.toFile(), RecordedPlans.class);
  }

  /** Writes the file. */
  public void write(Path file) throws IOException {
    JSON.writeValue(file.toFile(), this);
  }

  /**
   * What decides how long a cold start of a model takes.
   *
   * @param computation how many times as long its layers compute as was recorded
   */
  PipelineModel pipeline(Model model, double computation) {
    LinkProfile profile =
        new LinkProfile(link.stream().map(c -> new Copy(c.getFirst(), c.getLast())).toList());
    List<Segment> layers =
        model.layers.stream()
            .map(l -> new Segment(l.getFirst(), Math.round(l.getLast() * computation)))
            .toList();
    return new PipelineModel(new LinkModel(profile), layers, leadNanos, waitNanos);
  }
}
