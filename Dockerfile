# The server. `docker build -t sanne .` makes an image without a model; docs/how-to/deploy.md shows how to use it.
# `make image-check` runs these steps where no container engine is at hand.

FROM python:3.11-slim AS build
WORKDIR /src
COPY constraints.txt pyproject.toml README.md LICENSE MANIFEST.in ./
COPY src src
RUN python -m venv /opt/sanne
RUN /opt/sanne/bin/pip install --no-cache-dir -c constraints.txt ".[serve]"

FROM python:3.11-slim
COPY --from=build /opt/sanne /opt/sanne
RUN install -d -o 10001 -g 10001 /store
ENV PATH=/opt/sanne/bin:$PATH NUMBA_CACHE_DIR=/tmp/numba
USER 10001:10001
WORKDIR /store
VOLUME /store
EXPOSE 8080
HEALTHCHECK --start-period=300s --start-interval=2s CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8080/readyz', timeout=5)"]
ENTRYPOINT ["sanne"]
CMD ["serve", "/model", "--store", "/store/nodes", "--host", "0.0.0.0"]
