package io.pipelane.cluster.simulator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;

class JobTraceTest {
  @Test
  void draw_hasTheClustersNumberAndMean() {
    for (VirtualCluster cluster : VirtualCluster.ALL) {
      List<JobTrace.Job> jobs = JobTrace.draw(cluster, OfflineModel.ALL, 5);

      assertEquals(cluster.jobs(), jobs.size());
      double hours = jobs.stream().mapToDouble(JobTrace.Job::alone).average().orElse(0) / 60;
      assertEquals(cluster.meanHours(), hours, 0.01, cluster.toString());
    }
  }

  @Test
  void draw_ofTheSameSeed_isTheSame() {
    VirtualCluster cluster = new VirtualCluster("x", 50, 1);

    assertEquals(
        JobTrace.draw(cluster, OfflineModel.ALL, 3), JobTrace.draw(cluster, OfflineModel.ALL, 3));
  }

  @Test
  void draw_jobsComeInOrder() {
    List<JobTrace.Job> jobs = JobTrace.draw(new VirtualCluster("x", 500, 2), OfflineModel.ALL, 9);

    for (int i = 1; i < jobs.size(); i++) {
      assertTrue(jobs.get(i - 1).arrival() <= jobs.get(i).arrival());
    }
  }
}
