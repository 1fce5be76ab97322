package io.pipelane.server.jobs;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pipelane.server.placement.JobPlace;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** The answers about jobs, in JSON. */
public final class JobAnswers {
  private JobAnswers() {}

  /** One job. */
  public static byte[] job(JobStatus job) {
    return JobJson.write(node(job));
  }

  /** All jobs, and the groups that they belong to. */
  public static byte[] list(List<JobStatus> jobs) {
    ObjectNode answer = JobJson.object();
    ArrayNode all = answer.putArray("jobs");
    Map<String, List<JobStatus>> groups = new LinkedHashMap<>();
    for (JobStatus job : jobs) {
      all.add(node(job));
      if (!job.spec().group().isEmpty()) {
        groups.computeIfAbsent(job.spec().group(), _ -> new ArrayList<>()).add(job);
      }
    }
    ArrayNode listed = answer.putArray("groups");
    groups.forEach((name, members) -> listed.add(group(name, members)));
    return JobJson.write(answer);
  }

  private static ObjectNode node(JobStatus job) {
    JobSpec spec = job.spec();
    ObjectNode node = JobJson.object();
    node.put("id", spec.id());
    node.put("state", job.state().name());
    node.put("reason", job.reason());
    node.put("model", spec.model().model());
    node.put("version", Long.toString(spec.model().version()));
    node.put("class", spec.priority().name().toLowerCase(Locale.ROOT));
    node.put("group", spec.group());
    spec.inputFile().ifPresent(file -> node.put("input_file", file));
    node.put("output_file", spec.outputFile());
    node.put("created", Instant.ofEpochMilli(spec.createdMillis()).toString());
    node.put("items_done", job.rows());
    node.put("items_failed", job.failed());
    job.items().ifPresent(items -> node.put("items", items));
    spec.sizeHint().ifPresent(items -> node.put("size_hint", items));
    node.put("repeat", spec.repeat());
    node.put("progress", job.progress());
    job.place().ifPresent(place -> node.set("place", node(place)));
    return node;
  }

  private static ObjectNode node(JobPlace place) {
    ObjectNode node = JobJson.object();
    node.put("device", place.device());
    node.put("by", place.by().name().toLowerCase(Locale.ROOT));
    node.put("predicted_throughput", place.predicted());
    node.put("moves", place.moves());
    return node;
  }

  /** A group is done when all its jobs are. */
  private static ObjectNode group(String name, List<JobStatus> jobs) {
    ObjectNode node = JobJson.object();
    node.put("group", name);
    node.put("jobs", jobs.size());
    node.put("ended", jobs.stream().filter(job -> job.state().isEnd()).count());
    node.put("done", jobs.stream().allMatch(job -> job.state() == JobState.DONE));
    return node;
  }
}
