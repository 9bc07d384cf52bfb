"""Full-batch training in Spark MLlib on all processors of this machine. Usage: platforms_spark.py PLAN"""
import json, os, sys, time
os.environ['PYSPARK_PYTHON'] = sys.executable
os.environ['PYTHONPATH'] = os.pathsep.join(p for p in [os.path.dirname(os.path.abspath(__file__)), os.environ.get('PYTHONPATH')] if p)
from pyspark import SparkConf
from pyspark.sql import SparkSession
import platforms_data as data

plan = json.loads(sys.argv[1])
n, d = plan['samples'] // plan['workers'], plan['features']
conf = SparkConf().setMaster('local[2]').set('spark.driver.memory', '8g').set('spark.ui.enabled', 'false').set('spark.driver.maxResultSize', '4g')
session = SparkSession.builder.config(conf=conf).getOrCreate()
sc = session.sparkContext
sc.setLogLevel('ERROR')


def rows(rank):
    x, y = data.part(plan, rank)
    return zip(x.astype('float64'), y.astype('float64'))


parts = sc.parallelize(range(plan['workers']), plan['workers']).flatMap(rows)
if plan['outputs'] == 1:
    from pyspark.mllib.classification import LogisticRegressionWithSGD
    from pyspark.mllib.regression import LabeledPoint
    points = parts.map(lambda r: LabeledPoint(r[1], r[0])).cache()
    points.count()

    def train(steps):
        LogisticRegressionWithSGD.train(points, iterations=steps, miniBatchFraction=1.0, convergenceTol=0.0)
else:
    from pyspark.ml.classification import MultilayerPerceptronClassifier
    from pyspark.ml.linalg import Vectors
    frame = session.createDataFrame(parts.map(lambda r: (float(r[1]), Vectors.dense(r[0]))), ['label', 'features']).cache()
    frame.count()

    def train(steps):
        MultilayerPerceptronClassifier(layers=[d] + (plan['hidden'] or []) + [plan['outputs']], maxIter=steps, solver='gd', stepSize=plan['rate'],
                                       tol=0.0, blockSize=128).fit(frame)


def timed(steps):
    t = time.perf_counter()
    train(steps)
    return time.perf_counter() - t


train(plan['warm'])
few = min(timed(plan['warm']) for _ in range(2))
data.say('begin')
many = timed(plan['warm'] + plan['steps'])
# The cost of a job beside its steps is not measured.
data.say('end', many - few, plan['steps'] * n * plan['workers'])
sc.stop()
